import { BaseCommand } from '../../cli/command/base-command.ts'
import { findFileWarnings } from '../../cli/template/lint-file.ts'
import { requirePublishable } from '../../cli/template/template-file.ts'
import { readTemplateFiles, templateFileArgs } from '../../cli/template/template-files.ts'
import { warningText } from '../../cli/template/warnings.ts'

export default class TemplateLint extends BaseCommand {
  static override summary = 'Check template files without a server, as publishing checks them.'
  static override description =
    'Says each problem with its line and column, and warns of what an iPhone would cut, not show or show unreadably, as push does. ' +
    'Images must be there; whether a platform takes them is checked by the server, which also warns of their sizes, of ' +
    'overrides and of Google.'
  static override examples = [
    '<%= config.bin %> template lint ticket.json',
    { description: 'Every template of a folder, in CI', command: '<%= config.bin %> template lint templates/ --json' },
  ]
  static override strict = false
  static override args = templateFileArgs

  async run() {
    const { argv } = await this.parse(TemplateLint)
    const { files } = await readTemplateFiles(argv as string[])
    for (const file of files) {
      await requirePublishable(file)
      const text = warningText(findFileWarnings(file))
      this.log(text === undefined ? `${file.path}: nothing to say` : `${file.path}:\n${text}`)
    }
    return files.map((file) => ({ file: file.path, key: file.key ?? null, warnings: findFileWarnings(file) }))
  }
}
