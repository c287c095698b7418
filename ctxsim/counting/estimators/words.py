"""Words times a constant: the rule of thumb of model documentation."""

from ctxsim.counting.estimators.estimator import Estimator, Factor


class Words(Estimator):
    """White-space separated words x factor, rounded up. OpenAI: 0.75 words a token; Gemini: 60 to 80 words per 100."""

    factor: Factor = 1.33

    def text(self, text: str) -> int:
        return -int(-len(text.split()) * self.factor // 1)
