# SPDX-License-Identifier: Apache-2.0
# Completion of tilescope for bash; the program itself says what may follow.
_tilescope() {
  local cur words cword
  if declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref -n '=:' cur words cword
  else
    words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]}
  fi
  mapfile -t COMPREPLY < <("${words[0]}" complete "${words[@]:1:cword}" 2>/dev/null)
  [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
  declare -F __ltrim_colon_completions >/dev/null && __ltrim_colon_completions "$cur"
  return 0
}
complete -o default -F _tilescope tilescope
