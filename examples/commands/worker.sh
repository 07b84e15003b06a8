#!/bin/sh
# worker.sh: a command worker in plain POSIX shell, with no reader of JSON.
#
# For a pool that sends payloads as base64, so that a line is always the same but for three fields:
#
#     {"id":7,"task":"upper","payload_base64":"aGVsbG8="}
#
# A task is a function: it reads the payload from its standard input, writes the result to its
# standard output, and fails with a status other than 0. What it writes to standard error goes to
# the pool's `on_output`, or to the standard error of the pool's program if there is none.
# See docs/guides/command_workers.md.

task_echo() { cat; }
task_upper() { tr '[:lower:]' '[:upper:]'; }
task_count() { wc -c | tr -d ' \n'; }
task_lines() { grep -c ''; }  # fails if there is none

result=$(mktemp) || exit 1
trap 'rm -f "$result"' EXIT
trap 'exit 143' TERM

echo '{"heartbeat":true}'
while IFS= read -r line; do
  id=${line#'{"id":'}
  id=${id%%,*}
  task=${line#*'"task":"'}
  task=${task%%'"'*}
  payload=${line#*'"payload_base64":"'}
  payload=${payload%%'"'*}
  case $task in
    echo | upper | count | lines) ;;
    *)
      echo "{\"id\":$id,\"error\":\"there is no such task\"}"
      continue
      ;;
  esac
  if printf %s "$payload" | base64 -d | "task_$task" >"$result"; then
    printf '{"id":%s,"ok_base64":"%s"}\n' "$id" "$(base64 -w0 "$result")"
  else
    echo "{\"id\":$id,\"error\":\"the task ended with status $?\"}"
  fi
done
