# SPDX-License-Identifier: Apache-2.0
# Completion of tilescope for fish; the program itself says what may follow.
function __tilescope_complete
    set -l words (commandline -opc) (commandline -ct)
    tilescope complete $words[2..-1] 2>/dev/null
end
complete -c tilescope -a '(__tilescope_complete)'
