"""Other people's code as a policy: a function over messages, a process, a framework's class.

One core turns a view into messages and back (`mapping`); what differs is only who is asked.
"""

from __future__ import annotations

from ctxsim.plugins import Form
from ctxsim.policies.foreign import messages, pipe
from ctxsim.policies.foreign.shortener import Shortener
from ctxsim.policies.policy import Policy

ABSTRACT: tuple[type[Policy], ...] = (Shortener, pipe.Pipe)
"""Classes that labels name only together with the code that they stand for."""

FORMS: dict[str, Form[Policy]] = {messages.NAME: messages.opened, pipe.NAME: pipe.opened}
"""What opens a label, by its prefix."""

ABOUT: dict[str, str] = {messages.PATTERN: messages.ABOUT, pipe.PATTERN: pipe.ABOUT}
"""What each form of label is, by its pattern."""
