import { type Command, CommandHelp, Help } from '@oclif/core'

/** The help of a command. Removes the gaps that oclif leaves in the usage line when it drops repeated flags. */
class ProgramCommandHelp extends CommandHelp {
  protected override defaultUsage(): string {
    const alternatives = super.defaultUsage().replaceAll(/ \| (?=[|\])]| \|)/g, '')
    return [']', ')'].reduce(trimBefore, alternatives)
  }

  /** Removes empty default values, which oclif would show as `[default: ]`. */
  protected override flags(flags: Command.Flag.Any[]) {
    return super.flags(flags.map((flag) => (flag.default?.length === 0 ? { ...flag, default: undefined } : flag)))
  }
}

function trimBefore(text: string, character: string): string {
  const parts = text.split(character)
  return [...parts.slice(0, -1).map((part) => part.trimEnd()), parts.at(-1)].join(character)
}

/** The help of the program. Help for an unknown command fails with the same error as the command itself. */
export default class ProgramHelp extends Help {
  protected override CommandHelpClass = ProgramCommandHelp

  /**
   * Shows the help of a command, a topic, or (after `api`) an operation. For an unknown name, suggests similar names.
   */
  override async showHelp(argv: string[]): Promise<void> {
    const words = argv.filter((word) => !word.startsWith('-'))
    if (words[0] === 'api' && words[1] !== undefined) return this.showOperation(words[1])
    if (words.length === 0 || this.isKnown(words)) return super.showHelp(argv)
    const { failures } = await this.config.runHook('command_not_found', { id: words.join(':'), argv: [] })
    if (failures[0]) throw failures[0].error
  }

  /** Shows the reference of an endpoint. Loads the module on demand, because it is large. */
  private async showOperation(name: string): Promise<void> {
    const { operationHelp } = await import('./operation-help.ts')
    try {
      this.log(operationHelp(name))
    } catch (error) {
      const { describeFailure, formatFailure } = await import('./command/failure.ts')
      const { canColor } = await import('./settings/settings.ts')
      const failure = describeFailure(error)
      process.stderr.write(`${formatFailure(failure, { color: canColor(process.stderr) })}\n`)
      process.exitCode = failure.exitCode
    }
  }

  private isKnown(words: string[]): boolean {
    const prefixes = words.map((_, index) => words.slice(0, index + 1).join(':'))
    return prefixes.some((id) => this.config.findCommand(id)) || this.config.findTopic(words.join(':')) !== undefined
  }
}
