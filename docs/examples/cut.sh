#!/bin/sh
# The built-in policy `max-result-chars` in shell and jq: long tool results are cut as they come in.
#     ctxsim bench LOGS --policy 'pipe:sh docs/examples/cut.sh 2000'
exec jq --unbuffered --compact-output --argjson chars "${1:-2000}" '
  if .moment == "start" then {ctxsim: 1, moments: ["tool_result"]}
  elif (.content | length) > $chars then {content: .content[:$chars]}
  else {unchanged: true}
  end
'
