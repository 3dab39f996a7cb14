import { BaseCommand } from '../../cli/command/base-command.ts'
import { requirePublishable } from '../../cli/template/template-file.ts'
import { readTemplateFiles, templateFileArgs } from '../../cli/template/template-files.ts'

export default class TemplateLint extends BaseCommand {
  static override summary = 'Check template files without a server, as publishing checks them.'
  static override description =
    'Says each problem with its line and column. Images must be there; whether a platform takes them is checked by the server.'
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
      this.log(`${file.path}: nothing to say`)
    }
    return files.map(({ path, key = null }) => ({ file: path, key }))
  }
}
