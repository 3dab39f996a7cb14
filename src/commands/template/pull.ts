import { writeFile } from 'node:fs/promises'
import { Flags } from '@oclif/core'
import { namedArg } from '../../cli/arguments/id-argument.ts'
import { outFlag } from '../../cli/arguments/list-flags.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { getVersion } from '../../cli/template/template-version.ts'

export default class TemplatePull extends ClientCommand {
  static override summary = 'Write a template of the server to a template file.'
  static override description =
    'Writes the newest version, including drafts, in the format of template push, with the image IDs of the server. ' +
    'Without --out, it goes to stdout.'
  static override examples = [
    '<%= config.bin %> template pull day-ticket --out ticket.json',
    {
      description: 'Version 2',
      command: '<%= config.bin %> template pull 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --version 2',
    },
  ]
  static override args = { id: namedArg('template') }
  static override flags = {
    version: Flags.integer({ summary: 'Number of the version; the newest by default.', min: 1 }),
    out: outFlag('Output file.'),
  }

  async run() {
    const { args, flags } = await this.parse(TemplatePull)
    const client = this.connect(flags)
    const { id, key, name, description, passType } = await client.templates.get({ params: { id: args.id } })
    const version = await getVersion(client, { templateId: id, version: flags.version })
    const { definition } = await client.templateVersions.get({ params: { id: version.id } })
    const file = { ...(key !== null && { key }), name, description, passType, definition }
    const text = JSON.stringify(file, undefined, 2)
    if (flags.out === undefined) this.log(text)
    else {
      await writeFile(flags.out, `${text}\n`)
      this.log(`Wrote ${flags.out} (version ${version.version}, ${version.stage}).`)
    }
    if (key === null) this.note(`It has no key: passes template update ${id} --key … gives it one, for push and diff.`)
    return file
  }
}
