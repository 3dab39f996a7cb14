import { Args } from '@oclif/core'
import { BaseCommand } from '../cli/command/base-command.ts'

/** The shells with a completion script. Each script defines a function that asks `passes complete` what to offer. */
const shells = ['bash', 'zsh', 'fish'] as const

export default class Completion extends BaseCommand {
  static override summary = 'Print the completion script of a shell.'
  static override description =
    'The script completes commands, flags and their values, files, profiles, and the names of projects, templates, ' +
    'webhooks, doors, and identities. It reads these names from the server that the typed command would use, and ' +
    'caches them for 30 seconds in a file that only its owner can read.'
  static override examples = [
    { description: 'Install it for bash', command: '<%= config.bin %> completion bash >> ~/.bashrc' },
    { description: 'Install it for zsh', command: '<%= config.bin %> completion zsh >> ~/.zshrc' },
    {
      description: 'Install it for fish',
      command: '<%= config.bin %> completion fish > ~/.config/fish/completions/<%= config.bin %>.fish',
    },
  ]
  static override args = {
    shell: Args.string({ description: 'Shell that runs the script.', options: [...shells], required: true }),
  }

  async run() {
    const { args } = await this.parse(Completion)
    const script = scripts[args.shell as Shell](this.config.bin)
    if (!this.jsonEnabled()) process.stdout.write(script)
    return { script }
  }
}

type Shell = (typeof shells)[number]

/** The completion script of each shell. If `passes complete` offers nothing, the script offers file names. */
const scripts: Record<Shell, (program: string) => string> = {
  // Remove colons from the word breaks. Otherwise, bash would split webhook addresses. Within quotes, bash inserts
  // names without escaping, so do not offer names that could end the quote or run a command.
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
  // Do not unquote PREFIX within quotes: it already lacks the opening quote. zsh quotes inserted names as needed.
  zsh: (program) => `#compdef ${program}
_${program}_complete() {
  local line current=\${(Q)PREFIX}
  local -a offers shown
  [[ -n $QIPREFIX ]] && current=$PREFIX
  while IFS= read -r line; do
    offers+=("\${line%%$'\\t'*}")
    shown+=("\${line/$'\\t'/  -- }")
  done < <(${program} complete zsh -- "\${(@Q)words[2,CURRENT-1]}" "$current" 2>/dev/null)
  if (( $#offers )); then compadd -l -d shown -- "\${offers[@]}"; else _files; fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _${program}_complete ${program}
`,
  // Try the word with a closing quote. Otherwise, fish could not parse a word with an open quote.
  fish: (program) => `function __${program}_complete
  set -l words (commandline -opc)
  set -l typed (commandline -ct)
  set -l current
  for quote in '' "'" '"'
    set current (string unescape -- $typed$quote); and break
  end
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
