import { Args } from '@oclif/core'
import { BaseCommand } from '../cli/command/base-command.ts'
import { completionScript, type Shell, shells } from '../cli/completion/scripts.ts'

export default class Completion extends BaseCommand {
  static override summary = 'Print the completion script of a shell.'
  static override description =
    'Tab then completes commands, flags, their values, files, and the names of projects, templates, webhooks and profiles. ' +
    'Names come from the server that the words on the line say, and are kept for half a minute in a file that only you read. ' +
    'Without a server it is silent, and completes the rest.'
  static override examples = [
    { description: 'For bash', command: '<%= config.bin %> completion bash >> ~/.bashrc' },
    { description: 'For zsh', command: '<%= config.bin %> completion zsh >> ~/.zshrc' },
    {
      description: 'For fish',
      command: '<%= config.bin %> completion fish > ~/.config/fish/completions/<%= config.bin %>.fish',
    },
  ]
  static override args = {
    shell: Args.string({ description: 'Shell to complete in.', options: [...shells], required: true }),
  }

  async run() {
    const { args } = await this.parse(Completion)
    const script = completionScript(args.shell as Shell, this.config.bin)
    if (!this.jsonEnabled()) process.stdout.write(script)
    return { script }
  }
}
