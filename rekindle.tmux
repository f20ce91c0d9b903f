#!/bin/sh
# The TPM plugin: tmux saves and restores by rekindle (docs/automation.md).
#   set -g @plugin 'OWNER/rekindle'
#   set -g @rekindle-program '/path/to/rekindle'    # where it is not on PATH
#   set -g status-right '#{rekindle_status} %H:%M'

program=$(tmux show-option -gqv @rekindle-program)
if [ -z "$program" ]; then
    program=$(PATH="$PATH:$HOME/.cargo/bin:$HOME/.local/bin" command -v rekindle)
fi
if [ ! -x "$program" ]; then
    tmux display-message 'rekindle is not on PATH: set @rekindle-program'
    exit 0
fi

# Hooks at an index of their own, what tmux-resurrect calls when it is done, and a restore where this server is new.
"$program" tmux-conf | tmux source-file -

# Only the text of the options is changed here; tmux itself runs what stands in @rekindle_status.
for option in status-left status-right; do
    value=$(tmux show-option -gqv "$option")
    while :; do
        case $value in
            *'#{rekindle_status}'*) ;;
            *) break ;;
        esac
        value="${value%%'#{rekindle_status}'*}#{E:@rekindle_status}${value#*'#{rekindle_status}'}"
        tmux set-option -gq -- "$option" "$value"
    done
done
