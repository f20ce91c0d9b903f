#!/bin/bash
# The first two lines of the status line as people write them by hand: one call of jq, the rest in the shell.
input=$(cat)
IFS=$'\t' read -r cwd model used percent size cost ms written five five_at week week_at branch added changed slot < <(
  jq -r --slurpfile prepared "$1" '$prepared[0] as $p | [
    .workspace.current_dir, (.model.display_name | gsub(" "; "")),
    (.context_window.current_usage | .input_tokens + .cache_creation_input_tokens + .cache_read_input_tokens),
    .context_window.used_percentage, .context_window.context_window_size,
    .cost.total_cost_usd, .cost.total_duration_ms, .context_window.total_output_tokens,
    .rate_limits.five_hour.used_percentage, .rate_limits.five_hour.resets_at,
    .rate_limits.seven_day.used_percentage, .rate_limits.seven_day.resets_at,
    $p.git.branch, $p.git.added, $p.git.changed, $p.slot.position] | @tsv' <<<"$input"
)
printf -v now '%(%s)T' -1
bar=
mark=$(((size - 33000) * 10 / size))
for ((cell = 0; cell < 10; cell++)); do
  if ((cell == mark)); then bar+=┃; elif ((cell < percent / 10)); then bar+=━; else bar+=─; fi
done
printf '📁:%s 🌿:%s+%d*%d 🤖:%s 🧠:%dk[%s] 🕐:%(%H:%M)T\n' \
  "${cwd/#$HOME/\~}" "$branch" "$added" "$changed" "$model" $(((used + 500) / 1000)) "$bar" -1
left=$((five_at - now))
cents=${cost/./}
printf '⌛:%dh%02dm(%d%%)|📅:%dh(%d%%)@%(%a)T|{S%d} 💰:$%.0f|$%d.%02d/h 💬:%dkt\n' \
  $((left / 3600)) $((left % 3600 / 60)) "$five" $(((week_at - now) / 3600)) "$week" "$week_at" "$slot" "$cost" \
  $((cents * 36000 / ms)) $((cents * 3600000 / ms % 100)) $(((written + 500) / 1000))
