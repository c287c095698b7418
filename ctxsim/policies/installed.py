"""Is a framework that is installed here the one that its policies were compared with?"""

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from ctxsim import labels
from ctxsim.policies import registered_policies


def other_versions(label: str) -> Iterator[str]:
    """Yield a line for each package of another version than a label's policies were compared with.

    A framework's own class is judged by the built-in policies of its folder. What isn't installed isn't told of.
    """
    known = registered_policies()
    for link in labels.chain(label):
        name = link.partition(":")[0]
        folder = f"ctxsim.policies.frameworks.{name.replace('-', '_')}."
        classes = (
            [known[name]] if name in known else [cls for cls in known.values() if cls.__module__.startswith(folder)]
        )
        pairs = (pair.split() for cls in classes if cls.family == "frameworks" for pair in cls.version.split(", "))
        for package, compared in dict.fromkeys(map(tuple, pairs)):
            try:
                here = version(package)
            except PackageNotFoundError:
                continue
            if here != compared:
                yield f"{name} was compared with {package} {compared}; {here} is installed"
