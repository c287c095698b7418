"""Each parameter of a framework's policy moved over its bounds: what is sent of one small conversation.

A step is u for a text of the user, s for a response, c for a call with a result, p for two parallel ones, t for a call
behind a text, each with a size; the texts of the first step are a, of the second b. What is sent is written with one
letter a text, ( for a call, S for a summary, N for a note, + behind a text that was changed, - for nothing. In labels
a star stands for an estimator by the character, by which a call of bash and {} is 6.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from by_hand import SUMMARY, Driven

from ctxsim.policies import Stop
from ctxsim.transcript import Item


def talk(label: str, steps: str) -> Driven:
    driven = Driven(label.replace("*", ",estimator=chars:ratio=1"), 10_000)
    for letter, step in zip("abcdefghijkl", steps.split(), strict=False):
        kind, (size, _, reported) = step[0], step[1:].partition(":")
        text, used = letter * int(size), int(reported) if reported else None
        match kind:
            case "u":
                driven.user(text)
            case "s":
                driven.says(text, used=used)
            case "p":
                driven.calls(text, text.upper(), used=used)
            case _:
                driven.calls(text, used=used, said=letter.upper() * 4 * (kind == "t"))
    return driven


def written(items: Iterable[Item] | Stop | None) -> str:
    if items is None or isinstance(items, Stop):
        return "refused" if items is None else "stop"
    found = ""
    for item in items:
        if SUMMARY in item.text:
            found += "S"
        elif item.synthetic or item.kind == "tool_call":
            found += "N" if item.synthetic else "("
        else:
            found += item.text[:1] + "+" * (len(set(item.text)) > 1)
    return found or "-"


@pytest.mark.parametrize(
    ("label", "steps", "expected"),
    [
        ("adk-compact:token_threshold={},event_retention_size=1*", "u10 c4 c4", "31:a(b(c 30:S(c"),
        ("adk-compact:token_threshold=1,event_retention_size={}", "u10 c4 c4",
         "5:a(b(c 4:S(b(c 3:S(b(c 2:S(c 1:S(c"),
        ("adk-compact:token_threshold={},event_retention_size=1", "u10 c4:25 c4:29", "30:a(b(c 29:S(c"),
        ("adk-filter:num_invocations_to_keep={},remove_amount=1", "u1 c1 u1 s1 u1 u1 c1",
         "1:ef(g 2:cdef(g 3:a(bcdef(g"),
        ("adk-filter:num_invocations_to_keep=1,remove_amount={}", "u1 c1 u1 s1 u1 u1 c1",
         "1:ef(g 2:ef(g 3:a(bcdef(g"),
        ("ag2-sliding:max_events={}", "u1 p1 s1 c1", "1:(d 2:(d 3:c(d 4:c(d 5:((bBc(d 6:a((bBc(d"),
        ("ag2-sliding:keep_first=true,max_events={}", "u1 p1 s1 c1", "1:a 2:a(d 3:a(d 4:ac(d 5:ac(d 6:a((bBc(d"),
        ("ag2-sliding:keep_first=true,max_events={}", "s1 p1 s1 c1", "1:(d 2:(d 3:c(d 5:((bBc(d 6:a((bBc(d"),
        ("ag2-token-limiter:max_tokens={}*", "u10 c4 s10 c4",
         "50:a(bc(d 40:a(bc(d 39:ac(d 30:ac(d 29:a(d 20:a(d 19:a(d 10:a(d 1:a(d"),
        ("ag2-token-limiter:max_tokens={}*", "s10 c4 s10 c4", "40:a(bc(d 39:(bc(d 30:(bc(d 20:c(d 19:(d 1:(d"),
        ("ag2-tail-window:max_events=0,max_tokens={},target=2*", "u10 c4 s10 c4", "40:a(bc(d 39:(d"),
        ("ag2-tail-window:max_events=5,target={}", "u1 p1 s1 c1",
         "1:d 2:(d 3:c(d 4:c(d 5:((bBc(d 6:a((bBc(d 7:a((bBc(d"),
        ("ag2-tail-window:target=2,max_events={}", "u1 p1 s1 c1", "0:a((bBc(d 5:(d 6:a((bBc(d"),
        ("af-truncation:tokenizer=false,compact_to=2,max_n={}", "u1 c1 s1 c1", "5:(d 6:a(bc(d"),
        ("af-truncation:tokenizer=false,max_n=3,compact_to={}", "u1 c1 s1 c1", "1:(d 2:(d 3:c(d 4:c(d 5:(bc(d"),
        ("af-truncation:tokenizer=false,max_n=3,preserve_first_user_group=true,compact_to={}", "u1 c1 s1 c1",
         "1:a(d 2:a(d 3:a(d 4:ac(d 5:ac(d"),
        ("af-truncation:compact_to=20,max_n={}*", "u10 c4 s10 c4", "40:a(bc(d 39:c(d"),
        ("af-truncation:max_n=39,compact_to={}*", "u10 c4 s10 c4",
         "40:a(bc(d 30:(bc(d 29:c(d 20:c(d 19:(d 9:(d 0:(d"),
        ("af-sliding:keep_last_groups={}", "u1 c1 s1 p1", "1:((dD 2:c((dD 3:(bc((dD 4:a(bc((dD 5:a(bc((dD"),
        ("af-selective:keep_last_tool_call_groups={}", "u1 c1 s1 p1 c1",
         "0:ac 1:ac(e 2:ac((dD(e 3:a(bc((dD(e 4:a(bc((dD(e"),
        ("af-tool-result:keep_last_tool_call_groups={}", "u1 c1 s1 p1 c1",
         "0:aNcNN 1:aNcN(e 2:aNc((dD(e 3:a(bc((dD(e 4:a(bc((dD(e"),
        ("af-context-window:max_context_window_tokens={},tool_eviction_threshold=0.4,keep_last_tool_call_groups=1*",
         "u10 c40 c4", "162:aN(c 165:a(b(c 170:a(b(c 200:a(b(c"),
        ("af-context-window:max_context_window_tokens=200,max_output_tokens={},tool_eviction_threshold=0.3,"
         "truncation_threshold=0.4,keep_last_tool_call_groups=9*", "u10 c40 c4",
         "0:a(b(c 34:a(b(c 36:(c 199:(c 300:(c"),
        ("af-summarize:target_count={},threshold_count=0", "u1 c1 s1 c1",
         "1:S(d 2:S(d 3:Sc(d 4:S(bc(d 5:S(bc(d 6:a(bc(d"),
        ("af-summarize:target_count=2,threshold_count={}", "u1 c1 s1 c1", "3:S(d 4:a(bc(d"),
        ("af-summarize:threshold_count={}", "u9 c8 c8 c8", "2:S(c(d 3:a(b(c(d"),
        # The instructions are 148 tokens, the task's line of 19 characters 4: 152 are no room for a group behind it.
        ("af-summarize:max_summary_input_tokens={}", "u9 c8 c8 c8", "152:S(b(c(d 151:a(b(c(d"),
        # By four characters the task is 3, a call 2, results 2,000 and 100; the first in a line, cut, 1,024.
        ("af-budget:token_budget={},estimator=chars", "u9 c8000 c400", "1200:aN(c 1100:(c"),
        # The lines of two groups are 8 each, the newest group is 4.
        ("af-budget:token_budget={},keep_last_groups=2,estimator=chars", "u9 c8 c8 c8", "12:N(d"),
        ("af-budget:token_budget={},keep_last_tool_call_groups=1*", "u10 c40 c4",
         "66:a(b(c 65:(c 64:(c 60:(c 20:(c 10:(c 9:(c"),
        ("af-budget:token_budget=30,keep_last_tool_call_groups=9,keep_last_groups={}*", "u10 c4 s10 c4",
         "0:(bc(d 1:(d 2:c(d 3:(bc(d 4:(bc(d 9:(bc(d"),
        ("autogen-token-limited:token_limit={}*", "u10 c4 s10 c4", "40:a(bc(d 39:a(b(d 30:a(b(d 20:a(d 10:a 1:-"),
        ("autogen-head-tail:head_size={},tail_size=2", "u1 c1 s1 c1", "1:aN(d 2:aN(d 3:a(bN(d 4:a(bc(d"),
        ("autogen-head-tail:head_size=1,tail_size={}", "u1 p1 s1 c1", "1:aN 2:aN(d 3:aNc(d 4:aNc(d 5:a((bBc(d"),
        ("autogen-buffered:buffer_size={}", "u1 p1 s1 c1", "1:- 2:(d 3:c(d 4:c(d 5:((bBc(d 6:a((bBc(d"),
        ("haystack-sliding:context_window={}*", "u10 c94 c94", "300:aN(c 301:a(b(c"),
        ("haystack-sliding:context_window=300,min_keep_steps={}*", "u10 c94 c94", "0:aN(c 1:aN(c 2:a(b(c"),
        ("haystack-sliding:context_window=300,compact_to={}*", "u10 c94 c94",
         "0.36:aN(c 0.37:aN(c 0.69:aN(c 0.7:a(b(c"),
        ("haystack-sliding:context_window=100,compact_at=0.5,compact_to={}*", "u10 s10 u10 s10 u10 s10",
         "0.2:Nef 0.39:Nef 0.4:Ncdef 0.59:Ncdef 0.6:abcdef"),
        ("haystack-prune:context_window=300,min_tokens={},min_keep_steps=1*", "u10 c94 c94", "93:a([+(c 94:a(b(c"),
        ("haystack-prune:context_window=300,min_tokens=10,min_keep_steps={}*", "u10 c94 c94",
         "0:a([+(c 1:a([+(c 2:a(b(c"),
        # A placeholder has 75 characters.
        ("haystack-prune:context_window=300,compact_at=0.1,min_tokens={}*", "u10 c75 c94", "1:a(b(c"),
        # 310 - 19 are 291, 0.7275 of the window.
        ("haystack-prune:context_window=400,compact_to={},min_tokens=1,compact_at=0.1*", "u10 c94 c94 c94",
         "0.68:a([+([+(d 0.7:a([+([+(d 0.725:a([+([+(d 0.7275:a([+(c(d 0.74:a([+(c(d 0.77:a([+(c(d 0.78:a(b(c(d"),
        ("haystack-summarize:context_window=300,approximate_summary_tokens=60,compact_at=0.5,compact_to={}*",
         "u10 s90 u10 s90 u10 c90",
         "0.3:Se(f 0.88:Se(f 0.889:SSe(f 0.89:Scde(f 0.9:Scde(f 1:Scde(f"),
        ("haystack-summarize:context_window=300,min_keep_steps={},approximate_summary_tokens=20*", "u10 c94 c94 c94",
         "0:aS 1:aS(d 2:aS(c(d 3:a(b(c(d"),
        ("inspect-edit:at={},keep_tool_uses=1*", "u10 c94 c94", "210:a(b(c 209:a((+(c 137:a((+(c 136:stop"),
        ("inspect-edit:at=209,keep_tool_uses={}*", "u10 c94 c94", "0:a((+((+ 1:a((+(c 2:stop"),
        ("inspect-edit:at=209,keep_tool_inputs=false,keep_tool_uses={}*", "u10 t94 c94", "0:aB+N 1:aB+(c 2:stop"),
        ("inspect-trim:at={},preserve=0.5*", "u10 c94 c94", "210:a(b(c 209:a(c 110:a(c 109:a"),
        # A pass drops a fifth of what is left, or one message: five would do for 60, and four are made.
        ("inspect-trim:at={},preserve=0.8*", "u10 s10 s10 s10 s10 s10 s10 s10 s10 s10 s10", "70:afghijk 60:stop"),
        ("inspect-trim-messages:preserve={}", "u1 c1 s1 c1", "0.1:a 0.2:a 0.4:a(d 0.6:ac(d 0.8:a(bc(d 1:a(bc(d"),
        ("inspect-summary:at={}*", "u10 c94 c94", "210:a(b(c 209:aS 54:aS 53:stop"),
        ("langchain-trim:max_tokens={}*", "u10 c4 s10 c4", "40:a(bc(d 39:(bc(d 30:(bc(d 24:bc(d 10:(d 4:d 3:-"),
        ("langchain-trim:max_tokens=40,include_system=true*", "u10 c4 s10 c4", "1:a(bc(d"),
        ("langchain-trim:start_on={},max_tokens=34*", "u10 c4 s10 c4",
         "any:(bc(d human:- ai:(bc(d tool:bc(d human/ai:(bc(d"),
        ("langchain-trim:end_on={},max_tokens=40*", "u10 c4 s10 c4",
         "any:a(bc(d human:a ai:a(bc( tool:a(bc(d human/ai:a(bc("),
        ("langchain-clear:trigger={},keep=1*", "u10 c94 c94", "210:a(b(c 209:a([+(c"),
        ("langchain-clear:trigger=209,keep={}*", "u10 c94 c94", "0:a([+([+ 1:a([+(c 2:a(b(c 3:a(b(c"),
        ("langchain-clear:trigger=209,keep=0,clear_at_least={}*", "u10 c94 c94",
         "1:a([+(c 85:a([+(c 86:a([+([+ 99:a([+([+"),
        ("langchain-summarize:trigger={},keep=2*", "u10 c94 c94", "211:a(b(c 210:S(c"),
        ("langchain-summarize:trigger=1,keep={}*", "u10 p9 s9 c9",
         "1:S(d 2:S(d 3:Sc(d 4:S((bBc(d 5:S((bBc(d 6:S((bBc(d 7:a((bBc(d"),
        ("langchain-summarize:trigger=1,keep_tokens={}*", "u10 c4 s10 c4",
         "1:S(d 4:S(d 9:S(d 10:S(d 19:S(d 20:Sc(d 29:S(bc(d 30:S(bc(d 39:S(bc(d 40:a(bc(d"),
        ("langchain-summarize:trigger=9000,keep=2,trigger_messages={}", "u9 c8 c8 c8", "0:a(b(c(d 8:a(b(c(d 7:S(d"),
        ("deepagents:trigger={},keep_messages=1*", "u10 c94 s96", "0.0207:a(bc 0.0206:Sc"),
        ("deepagents:trigger=0.01,keep={}*", "u10 c94 s96",
         "0.005:Sc 0.0095:Sc 0.0096:Sc 0.019:S(bc 0.0196:S(bc 0.0206:a(bc"),
        ("langmem:max_tokens={},max_summary_tokens=5*", "u10 s10 u10 s10",
         "9:S 10:S 14:S 15:Sd 20:Sd 24:Sd 25:Sd 39:S 40:S 41:abcd"),
        ("langmem:max_tokens=30,max_tokens_before_summary={},max_summary_tokens=5*", "u10 c4 u10 s10",
         "1:Scd 10:Scd 11:Scd 20:Scd 30:Sd 31:S 40:S 41:a(bcd"),
        ("litellm-trim:max_tokens={}*", "u10 c4 s10 s10",
         "41:a(bcd 40:a(bcd 34:a+(bcd 30:(bcd 24:bcd 20:cd 13:d 10:d 3:-"),
        ("litellm-trim:max_tokens={}", "", "9:-"),
        ("llamaindex-buffer:token_limit={}*", "u10 c4 u10 c4", "28:a(bc(d 27:c(d 18:c(d 14:c(d 13:d 4:d 3:d"),
        ("llamaindex-summary:token_limit={}*", "u10 c4 u10 c4", "28:a(bc(d 27:Sc(d 18:Sc(d 14:Sc(d 13:S 4:S 3:S"),
        ("llamaindex-summary:llm=False,token_limit={}*", "u10 c4 u10 c4", "28:a(bc(d 27:c(d 14:c(d 13:-"),
        ("openai-compaction-session:candidates={}", "u1 c1 s1 u1 c1", "5:adS 6:a(bcd(e"),
        ("openai-session-limit:limit={}", "u1 c1 s1", "1:c 2:bc 3:(bc 4:a(bc"),
        ("openhands-condenser:max_size={},keep_first=1", "u1 c1 c1 s1 c1 c1",
         "9:aS(f 10:a(b(cd(e(f 11:a(b(cd(e(f 8:aS(f"),
        ("openhands-condenser:max_size=9,keep_first={}", "u1 c1 c1 s1 c1 c1",
         "0:S(f 1:aS(f 2:a(bS 3:a(bS 4:a(b(cd(e(f"),
        ("openhands-condenser:max_size=9,keep_first=1,minimum_progress={}", "u1 c1 c1 s1 c1 c1",
         "0.6:aS(f 0.7:aS(f 0.71:a(b(cd(e(f 0.8:a(b(cd(e(f"),
        ("openhands-condenser:max_tokens={},keep_first=1*", "u10 c4 c4 s10 c4 c4",
         "60:a(b(cd(e(f 59:aS(f 40:aS(f 30:aS 20:aS"),
        ("pydantic-clear:max_tokens={},keep_pairs=1*", "u10 c94 c94", "210:a(b(c 209:a([+(c"),
        ("pydantic-clear:max_messages={},keep_pairs=1", "u1 c1 c1 s1", "4:a([+(cd 5:a([+(cd 6:a(b(cd"),
        ("pydantic-clear:max_tokens=1,keep_pairs=1,min_clear_tokens={}*", "u10 c94 c94",
         "72:a([+(c 73:a([+(c 74:a(b(c"),
        ("pydantic-clear:max_tokens=1,clear_tool_inputs=true,keep_pairs={}", "u1 c94 c94",
         "0:a([+([+ 1:a([+(c 2:a(b(c 3:a(b(c"),
        ("pydantic-sliding:max_messages={},keep_messages=2", "u1 c1 c1 u1", "4:a(cd 5:a(b(cd 6:a(b(cd"),
        ("pydantic-sliding:max_messages=1,preserve_first_user_message=false,keep_messages={}", "u1 c1 s1 u1 c1",
         "1:(e 2:(e 3:d(e 4:cd(e 5:(bcd(e 6:(bcd(e 7:a(bcd(e 8:a(bcd(e"),
        ("pydantic-sliding:max_messages=1,keep_messages={}", "u1 c1 s1 u1 c1",
         "1:a(e 2:a(e 3:ad(e 4:acd(e 5:a(bcd(e 6:a(bcd(e 7:a(bcd(e 8:a(bcd(e"),
        ("pydantic-sliding:max_messages=1,keep_tokens={}*", "u10 c4 s10 c4",
         "1:a(d 4:a(d 9:a(d 10:a(d 11:ac(d 19:ac(d 20:ac(d 29:a(bc(d 30:a(bc(d 40:a(bc(d"),
        ("pydantic-summarize:max_messages={},keep_messages=2", "u1 c1 c1 u1", "4:aS(cd 5:a(b(cd 6:a(b(cd"),
        ("pydantic-summarize:max_messages=1,keep_messages={}", "u1 c1 s1 u1 c1",
         "1:aS(e 2:aS(e 3:aSd(e 4:aScd(e 5:aS(bcd(e 6:aS(bcd(e 7:a(bcd(e 8:a(bcd(e"),
        ("pydantic-tiered:max_tokens={},keep_pairs=1,keep_messages=1*", "u10 c94 c94",
         "210:a(b(c 209:a([+(c 137:a([+(c 136:a(c"),
        ("pydantic-clamp:max_part_chars={},keep_head_chars=3,keep_tail_chars=2", "u1 s99", "98:ab+ 99:ab 0:ab"),
        # What wouldn't get shorter stays.
        ("pydantic-clamp:max_part_chars={},keep_head_chars=3,keep_tail_chars=2", "u1 s9", "1:ab"),
        ("sk-truncate:target_count={},threshold_count=0", "u1 c1 s1 u1 s1",
         "1:e 2:de 3:cde 4:(bcde 5:(bcde 6:a(bcde 7:a(bcde"),
        ("sk-summarize:target_count={},threshold_count=0", "u1 c1 s1 u1 s1",
         "1:Se 2:Sde 3:Scde 4:S(bcde 5:S(bcde 6:a(bcde 7:a(bcde"),
        ("sk-summarize:target_count=2,threshold_count={}", "u1 c1 s1 u1 s1", "3:Sde 4:a(bcde"),
        ("strands-sliding:window_size={}", "u1 s1:9 u1 s1:9", "2:cd 3:cd 4:abcd"),
        # Of five messages the newest text doesn't count: four fit.
        ("strands-sliding:window_size={}", "u1 s1 c1 u1", "3:(cd 4:ab(cd"),
        ("strands-sliding:window_size=2,proactive_compression={}*", "u10 s10 u10 s10", "0.004:cd 0.0041:abcd"),
        ("strands-summarizing:preserve_recent_messages=1,proactive_compression={}*", "u10 s10 u10 s10",
         "0.004:Sbcd 0.0041:abcd"),
        ("vercel-prune:tool_calls=all,trigger={}*", "u10 c4", "20:a(b 19:a"),
    ],
)  # fmt: skip
def test_what_is_sent(label: str, steps: str, expected: str) -> None:
    given = [cell.partition(":")[::2] for cell in expected.split()]
    assert [(value, written(talk(label.replace("{}", value), steps).request())) for value, _ in given] == given


@pytest.mark.parametrize(
    ("label", "steps", "expected"),
    [
        ("crewai-summarize:summary_tokens={}", "u1 c1 c1", "9:S"),
        # The task is an event, a call with its result two: 21. Half of them is 10, less the first and the summary.
        ("openhands-condenser:keep_first={}", "u9 c8 c8 c8 c8 c8 c8 c8 c8 c8 c8", "3:a(bS(i(j(k"),
        ("openclaw:reserve_tokens=0,keep_recent_tokens={}*", "u10 s10 u10 s10",
         "1:Sd 9:Sd 10:Sd 11:Scd 19:Scd 20:Scd 29:Sbcd 30:Sbcd 40:refused"),
        # 40 are counted and 80 reported: a message of 10 fills 20.
        ("openclaw:reserve_tokens=0,keep_recent_tokens={}*", "u10 s10 u10 s10:80", "20:Sd 21:Scd 40:Scd 41:Sbcd"),
        ("strands-sliding:window_size={}", "u1 c1 u1 c1 s1", "2:refused 3:(de 4:c(de 5:c(de 6:c(de 7:c(de"),
        ("strands-sliding:pin_first=1,window_size={}", "u1 c1 c1 s1", "2:refused 3:a(cd 4:a(cd 5:refused 6:a(cd"),
        ("strands-summarizing:preserve_recent_messages={}", "u1 c1 c1 s1 u1",
         "0:S(cde 1:S(cde 2:S(cde 3:S(cde 4:S(cde 5:S(cde 6:S(b(cde 7:refused"),
        ("strands-summarizing:preserve_recent_messages={}", "u1", "0:S 1:refused"),
        ("strands-summarizing:preserve_recent_messages=1,summary_ratio={}", "u1 c1 c1 s1 u1",
         "0:S(b(cde 0.1:S(b(cde 0.29:S(cde 0.5:S(cde 0.8:Sde 1:Sde"),
        # At least a tenth of twenty messages.
        ("strands-summarizing:preserve_recent_messages=1,summary_ratio={}", "u1 s1 u1 s1 c1 c1 c1 c1 c1 c1 c1 c1",
         "0:Scd(e(f(g(h(i(j(k(l 0.1:Scd(e(f(g(h(i(j(k(l 0.15:Sd(e(f(g(h(i(j(k(l"),
        ("strands-summarizing:preserve_recent_messages=1,pin_first={}", "u1 u1 c1 s1 u1",
         "0:Sb(cde 1:refused 2:refused 3:refused"),
    ],
)  # fmt: skip
def test_what_is_sent_after_a_refusal(label: str, steps: str, expected: str) -> None:
    given = [cell.partition(":")[::2] for cell in expected.split()]
    assert [(value, written(talk(label.replace("{}", value), steps).refused())) for value, _ in given] == given
