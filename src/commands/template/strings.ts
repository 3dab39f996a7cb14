import { writeFile } from 'node:fs/promises'
import { Args, Flags } from '@oclif/core'
import { outFlag } from '../../cli/arguments/list-flags.ts'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { UsageError } from '../../cli/command/cli-error.ts'
import { stringsFor, writeStrings } from '../../cli/template/strings-file.ts'
import { readTemplateFile } from '../../cli/template/template-file.ts'

export default class TemplateStrings extends BaseCommand {
  static override summary = 'Export the texts of a template file for translation, and import translations.'
  static override description =
    'With --language, writes each text of the definition with its place (key), the text in the default language ' +
    '(source), and its translation (target, empty if there is none), to stdout or --out. With --in, writes the ' +
    'targets to the template file and changes nothing else. If a place does not exist, a source has changed, or a ' +
    'text could not be published, nothing is written.'
  static override examples = [
    '<%= config.bin %> template strings ticket.json --language de --out de.json',
    {
      description: 'Import a translation',
      command: '<%= config.bin %> template strings ticket.json --in de.json',
    },
  ]
  static override args = { file: Args.string({ description: 'Template file.', required: true }) }
  static override flags = {
    language: Flags.string({ summary: 'One of the other languages of the definition, such as de.' }),
    out: outFlag('Output file.', { dependsOn: ['language'] }),
    in: Flags.string({ summary: 'File with translations to import.', exclusive: ['language', 'out'] }),
  }

  async run() {
    const { args, flags } = await this.parse(TemplateStrings)
    const file = await readTemplateFile(args.file)
    if (flags.in !== undefined) {
      const { language, changed, missing } = await writeStrings(file, flags.in)
      const rest = missing === 0 ? '' : `; ${missing} without a translation`
      this.log(`${args.file}: ${changed} ${changed === 1 ? 'text' : 'texts'} changed in ${language}${rest}.`)
      return { file: args.file, language, changed, missing }
    }
    if (flags.language === undefined) {
      throw new UsageError('No language was given', { hint: 'give one with --language, or translations with --in.' })
    }
    const strings = stringsFor(file, flags.language)
    const text = JSON.stringify(strings, undefined, 2)
    if (flags.out === undefined) this.log(text)
    else {
      await writeFile(flags.out, `${text}\n`)
      const missing = strings.entries.filter(({ target }) => target === '').length
      this.log(`Wrote ${flags.out} (${strings.entries.length} texts, ${missing} without a translation).`)
    }
    return strings
  }
}
