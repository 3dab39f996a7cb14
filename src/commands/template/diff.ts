import { DIFFERENT } from '../../cli/command/cli-error.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { readTemplateFiles, requireKeys, templateFileArgs } from '../../cli/template/template-file.ts'
import { changesTo, findStored, showChanges, withImageIds } from '../../cli/template/template-push.ts'

export default class TemplateDiff extends ClientCommand {
  static override summary = 'Show differences between template files and the server.'
  static override description =
    'Compares each file with the newest version of its template, including drafts. Lines with - show values on the ' +
    'server; lines with + show values in the file. Changes nothing. Exits with 3 if anything differs, else with 0.'
  static override examples = [
    '<%= config.bin %> template diff ticket.json',
    {
      description: 'Compare a folder with the server',
      command: '<%= config.bin %> template diff templates/ --json',
    },
  ]
  static override strict = false
  static override args = templateFileArgs

  async run() {
    const { argv, flags } = await this.parse(TemplateDiff)
    const { files } = await readTemplateFiles(argv as string[])
    requireKeys(files)
    const client = this.connect(flags)
    const found = []
    for (const file of files) {
      const stored = await findStored(client, file)
      const definition = await withImageIds(client, file)
      const changes = changesTo(stored, stored?.newest, file, definition)
      const state = !stored ? 'missing' : changes.length > 0 ? 'different' : 'equal'
      found.push({ file: file.path, key: file.key, state, changes })
      if (state === 'missing') this.log(`${file.path}: the server has no template ${file.key}`)
      else if (state === 'different')
        this.log(`${file.path}: differs from template ${file.key}\n${showChanges(changes)}`)
      else this.note(`${file.path}: equal`)
    }
    if (found.some(({ state }) => state !== 'equal')) process.exitCode = DIFFERENT
    return found
  }
}
