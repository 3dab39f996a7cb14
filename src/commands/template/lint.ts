import { BaseCommand } from '../../cli/command/base-command.ts'
import {
  draftOf,
  readTemplateFiles,
  requireNone,
  requirePublishable,
  templateFileArgs,
} from '../../cli/template/template-file.ts'
import { warningText } from '../../cli/template/template-version.ts'

export default class TemplateLint extends BaseCommand {
  static override summary = 'Check template files without a server.'
  static override description =
    'Shows errors that prevent publishing, with line and column, and warns about problems that holders would see on ' +
    'iPhones and in Google Wallet. Image files must exist. A server with both platforms and an https address makes ' +
    'the same checks before it publishes a template. Images that the file names by their ID are not checked.'
  static override examples = [
    '<%= config.bin %> template lint ticket.json',
    {
      description: 'Check every template of a folder, in CI',
      command: '<%= config.bin %> template lint templates/ --json',
    },
  ]
  static override strict = false
  static override args = templateFileArgs

  async run() {
    const { argv } = await this.parse(TemplateLint)
    const { files } = await readTemplateFiles(argv as string[])
    const { createWarnings, platformIssuesOf } = await import('../../server/pages/template-dev/content.ts')
    const finder = createWarnings()
    const at = new Date()
    const linted = []
    try {
      for (const file of files) {
        await requirePublishable(file)
        const draft = draftOf(file)
        const imageIssues = [...draft.faults, ...(await finder.findImageIssues(draft))]
        await requireNone(file, [...imageIssues, ...(await platformIssuesOf(draft, at))])
        const warnings = await finder.find(draft, at)
        const text = warningText(warnings)
        this.log(text === undefined ? `${file.path}: no problems found` : `${file.path}:\n${text}`)
        if (file.key === undefined) {
          this.note(
            `${file.path} has no key, which "passes apply" requires, and which "passes template push" needs to find the ` +
              'template again: add "key": "…" next to its name.',
          )
        }
        linted.push({ file: file.path, key: file.key ?? null, warnings })
      }
    } finally {
      finder.close()
    }
    return linted
  }
}
