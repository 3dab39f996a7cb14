/** What shells load: a function that asks `passes complete` what the word at the cursor may become. */
export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

/** Where nothing is offered, each falls back to the names of files. */
const scripts: Record<Shell, (program: string) => string> = {
  // Addresses of webhooks hold colons, at which bash would part words. Behind a quote bash inserts what it is given as it
  // stands: a name that could end the quote, or be run within it, is not offered there.
  bash: (program) => `COMP_WORDBREAKS=\${COMP_WORDBREAKS//:/}
_${program}_complete() {
  local offer word=\${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  while IFS= read -r offer; do
    case $word in
      [\\'\\"]*) case $offer in *[\\'\\"\\\`\\$\\\\!]*) ;; *) COMPREPLY+=("$offer") ;; esac ;;
      *) COMPREPLY+=("$(printf %q "$offer")") ;;
    esac
  done < <(${program} complete bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _${program}_complete ${program}
`,
  zsh: (program) => `#compdef ${program}
_${program}_complete() {
  local line
  local -a offers shown
  while IFS= read -r line; do
    offers+=("\${line%%$'\\t'*}")
    shown+=("\${line/$'\\t'/  -- }")
  done < <(${program} complete zsh -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)
  if (( $#offers )); then compadd -l -d shown -- "\${offers[@]}"; else _files; fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _${program}_complete ${program}
`,
  fish: (program) => `function __${program}_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l offers (${program} complete fish -- $words[2..-1] "$current" 2>/dev/null)
  if test (count $offers) -gt 0
    printf '%s\\n' $offers
  else
    __fish_complete_path "$current"
  end
end
complete -c ${program} -f -a '(__${program}_complete)'
`,
}

export function completionScript(shell: Shell, program: string): string {
  return scripts[shell](program)
}
