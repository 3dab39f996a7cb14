import { Args, Flags } from '@oclif/core'
import { idOf } from '../../cli/arguments/id-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { details } from '../../cli/command/output.ts'
import { programName } from '../../cli/command/program.ts'
import { pushTemplate } from '../../cli/template/template-push.ts'
import { warningText } from '../../cli/warnings.ts'

export default class TemplatePush extends ClientCommand {
  static override summary =
    'Bring a template file to the server: its images, its draft, and on request its publication.'
  static override description =
    'The file holds {name, description, passType, definition}; what definition.design.images names are paths beside it.\n' +
    'Without --template a new template is made. A newest version that is a draft is replaced, else a new draft is made.\n' +
    'What holders would regret, such as colours that cannot be read or texts that phones cut, is told as warnings.'
  static override examples = [
    {
      description: 'A new template, ready to issue from',
      command: '<%= config.bin %> template push ticket.json --publish',
    },
    {
      description: 'The next draft of a template',
      command: '<%= config.bin %> template push ticket.json --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27',
    },
  ]
  static override args = { file: Args.string({ description: 'The template file, JSON.', required: true }) }
  static override flags = {
    template: Flags.string({ summary: 'Id of the template to change.', parse: idOf('template') }),
    project: Flags.string({ summary: 'Id of the project that its passes go to.', parse: idOf('project') }),
    publish: Flags.boolean({ summary: 'Publish the version as well.' }),
  }

  async run() {
    const { args, flags } = await this.parse(TemplatePush)
    const client = this.connect(flags)
    let made: string | undefined
    try {
      const pushed = await pushTemplate(client, args.file, {
        templateId: flags.template,
        projectId: flags.project,
        publish: flags.publish,
        onTemplate: ({ id }) => {
          if (!flags.template) made = id
        },
      })
      this.log(
        details([
          ['Template', pushed.templateId],
          ['Version', `${pushed.version} (${pushed.stage})`],
          ['Images', pushed.images],
        ]),
      )
      const warnings = warningText(pushed.warnings)
      if (warnings && !this.jsonEnabled()) this.note(warnings)
      const next =
        pushed.stage === 'draft'
          ? `template publish ${pushed.templateId}`
          : `issue FILE.csv --template ${pushed.templateId}`
      if (!this.jsonEnabled()) this.note(`Next: ${programName()} ${next}`)
      return pushed
    } catch (error) {
      if (made) this.note(`Template ${made} was made before this failed: push again with --template ${made}`)
      throw error
    }
  }
}
