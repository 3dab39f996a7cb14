import { basename } from 'node:path'
import { Args, Flags } from '@oclif/core'
import { parsePath } from '../../cli/arguments/list-flags.ts'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { forceFlag } from '../../cli/command/existing-file.ts'
import { counted, printable } from '../../cli/command/output.ts'
import { programName } from '../../cli/command/program.ts'
import { importDesignerTemplate } from '../../cli/template/designer/import-template.ts'
import type { Note } from '../../cli/template/designer/report.ts'
import { chooseKey } from '../../cli/template/starters.ts'
import { draftOf, readTemplateFile } from '../../cli/template/template-file.ts'
import { below, listIssues } from '../../core/errors.ts'
import { checkDefinition } from '../../core/rules/template/definition.ts'

export default class TemplateImport extends BaseCommand {
  static override summary = 'Create a template file from a template of Pass Designer.'
  static override description =
    'Reads a .pkpasstemplate of Pass Designer for Mac: the folder, or a ZIP archive of it. Writes a template file, and ' +
    'its images to images/KEY. The values of fields become variables, with the values of the template as examples. ' +
    'Identifiers of your Apple account are left out. Lists the keys that only iPhones show, and the parts that a ' +
    'template file cannot hold.'
  static override examples = [
    '<%= config.bin %> template import Membership.pkpasstemplate',
    {
      description: 'Choose the name, the key, and the file',
      command:
        '<%= config.bin %> template import card.zip --name "Museum card" --key museum-card --out templates/museum.json',
    },
  ]
  static override args = {
    template: Args.string({ description: 'Folder or ZIP archive of the template.', required: true, parse: parsePath }),
  }
  static override flags = {
    name: Flags.string({ summary: 'Name of the template (default: the name of the folder or archive).' }),
    key: Flags.string({ summary: 'Key of the template, for files and commands (default: derived from the name).' }),
    out: Flags.string({ summary: 'File to write (default: KEY.json).', parse: parsePath }),
    force: forceFlag,
  }

  async run() {
    const { args, flags } = await this.parse(TemplateImport)
    const name = flags.name ?? (basename(args.template).replace(/(\.(pkpasstemplate|zip)){1,2}\/?$/i, '') || 'Template')
    const key = chooseKey(flags.key, name)
    const file = flags.out ?? `${key}.json`
    const { platformIssuesOf } = await import('../../server/pages/template-dev/content.ts')
    const at = new Date()
    const imported = await importDesignerTemplate(args.template, {
      file,
      key,
      name,
      replaces: flags.force,
      findPlatformIssues: (content) => platformIssuesOf(content, at),
    })
    const written = await readTemplateFile(file)
    const draft = draftOf(written)
    const issues = [...checkDefinition(written.definition), ...(await platformIssuesOf(draft, at)), ...draft.faults]
    const problems = listIssues(below('definition', issues)).map(({ path, message }) => {
      return { path: path.join('.'), reason: message }
    })
    const { images, variables, kept, unmapped, assumed, dropped } = imported
    this.log(`Wrote ${file} with ${counted(images.length, 'image')} and ${counted(variables, 'variable')}.`)
    this.#list('Kept in apple, for iPhones only', kept)
    this.#list('Check', assumed)
    this.#list('Not imported', unmapped)
    if (dropped.length > 0) this.log(`Left out, because the service sets them: ${dropped.join(', ')}.`)
    this.#list('Publishing would reject', problems)
    const next = problems.length > 0 ? 'fix these problems, then ' : ''
    this.note(`Next: ${next}${programName()} template lint ${file}`)
    return { file, key, name, passType: imported.passType, images, kept, assumed, unmapped, dropped, problems }
  }

  #list(title: string, notes: readonly Note[]): void {
    if (notes.length === 0) return
    this.log(`${title}:`)
    for (const { path, reason } of notes) this.log(`  ${printable(path)}: ${printable(reason)}.`)
  }
}
