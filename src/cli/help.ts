import { CommandHelp, Help } from '@oclif/core'

/** oclif's help of a command. oclif names each flag once, and leaves a gap where it would name it again. */
class ProgramCommandHelp extends CommandHelp {
  protected override defaultUsage(): string {
    const alternatives = super.defaultUsage().replaceAll(/ \| (?=[|\])]| \|)/g, '')
    return [']', ')'].reduce(trimBefore, alternatives)
  }
}

/** Removes the spaces before each occurrence of a character. */
function trimBefore(text: string, character: string): string {
  const parts = text.split(character)
  return [...parts.slice(0, -1).map((part) => part.trimEnd()), parts.at(-1)].join(character)
}

/** oclif's help, but for a command that does not exist: that is said as where it is run. */
export default class ProgramHelp extends Help {
  protected override CommandHelpClass = ProgramCommandHelp

  /**
   * Help of a command, a topic or, after `api`, an operation of the contract; of what is none, the names that come
   * near it.
   */
  override async showHelp(argv: string[]): Promise<void> {
    const words = argv.filter((word) => !word.startsWith('-'))
    if (words[0] === 'api' && words[1] !== undefined) return this.showOperation(words[1])
    if (words.length === 0 || this.isKnown(words)) return super.showHelp(argv)
    const { failures } = await this.config.runHook('command_not_found', { id: words.join(':'), argv: [] })
    if (failures[0]) throw failures[0].error
  }

  /** The reference of an endpoint: it is heavy, and loaded here alone. */
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

  /** After a command stand its arguments; a topic must be named whole. */
  private isKnown(words: string[]): boolean {
    const prefixes = words.map((_, index) => words.slice(0, index + 1).join(':'))
    return prefixes.some((id) => this.config.findCommand(id)) || this.config.findTopic(words.join(':')) !== undefined
  }
}
