import { dirname, join, resolve } from 'node:path'
import { Args, Flags } from '@oclif/core'
import { exists } from '../../files/private-file.ts'
import { outFlag, parsePath } from '../arguments/list-flags.ts'
import { UsageError, writeNamed } from '../command/cli-error.ts'
import { forceFlag, requireReplaceable } from '../command/existing-file.ts'
import { counted } from '../command/output.ts'
import { programName } from '../command/program.ts'
import { askText, canAsk, choose } from '../command/prompt.ts'
import { localCommand, type ResourceCommands } from '../command/resource-command.ts'
import { chooseKey, type StarterKind, starterFiles, starterKinds } from '../template/starters.ts'
import { stringsFor, writeStrings } from '../template/strings-file.ts'
import { readTemplateFile } from '../template/template-file.ts'
import { writeTemplate } from '../template/write-files.ts'

export const commands: ResourceCommands = {
  'template:init': localCommand({
    summary: 'Create a template file.',
    description:
      'On a terminal, asks for missing values. Also writes an icon of one color to images/KEY, so that you can push ' +
      'the file with "passes template push".',
    examples: [
      'template init',
      'template init ticket.json --kind event-ticket --name "Day ticket" --organization "Spring fair"',
    ],
    args: {
      file: Args.string({ description: 'File to write (default: KEY.json).', parse: parsePath }),
    },
    flags: {
      kind: Flags.option({ summary: 'Kind of pass.', options: starterKinds })(),
      name: Flags.string({ summary: 'Name of the template, such as "Day ticket".' }),
      organization: Flags.string({ summary: 'Issuer, as shown on cards.' }),
      key: Flags.string({ summary: 'Key of the template, for files and commands (default: derived from the name).' }),
      force: forceFlag,
    },
    async run({ args, flags }) {
      const noInput = flags['no-input']
      const kind = starterKinds.find((known) => known === flags.kind) ?? (await askKind(noInput))
      const name = flags.name ?? (await askFor('name', 'Name, such as "Day ticket": ', noInput))
      const organization =
        flags.organization ?? (await askFor('organization', 'Organization, as cards show it: ', noInput))
      const key = chooseKey(flags.key, name)
      const file = args.file ?? `${key}.json`
      const icon = `images/${key}/icon.png`
      const { template, image } = starterFiles(kind, { key, name, organization, icon })
      const path = join(dirname(file), icon)
      const images = (await exists(path)) ? [] : [{ path, content: image }]
      writeTemplate({ path: file, content: template }, images, { replaces: flags.force })
      return { file, kind, key, icon: path }
    },
    print: ({ file }) => `Wrote ${file}.`,
    note: ({ file, icon }) => `Next: change it, replace ${icon}, then ${programName()} template push ${file}`,
  }),
  'template:strings': localCommand({
    summary: 'Export the texts of a template file for translation, and import translations.',
    description:
      'With --language, writes a JSON file with one entry for each text of the definition: its path (key), the text ' +
      'in the default language (source), and its translation (target, empty if there is none). With --in, writes the ' +
      'targets of that JSON file to the template file, and changes nothing else. If a key does not exist, a source ' +
      'has changed, or publishing would reject a target, nothing is written.',
    examples: [
      'template strings ticket.json --language de --out de.json',
      {
        description: 'Import a translation',
        command: 'template strings ticket.json --in de.json',
      },
    ],
    args: { file: Args.string({ description: 'Template file.', required: true }) },
    flags: {
      language: Flags.string({
        summary: 'Language of the translations, such as de. It must be in languages.others of the definition.',
      }),
      out: outFlag('Output file', { dependsOn: ['language'] }),
      force: forceFlag,
      in: Flags.string({ summary: 'File whose translations to import.', exclusive: ['language', 'out'] }),
    },
    async run({ args, flags }) {
      if (flags.out !== undefined && resolve(flags.out) === resolve(args.file))
        throw new UsageError(`--out ${flags.out} is the template file itself: name another file`)
      requireReplaceable(flags.out, flags.force)
      const file = await readTemplateFile(args.file)
      if (flags.in !== undefined) return { file: args.file, ...(await writeStrings(file, flags.in)) }
      if (flags.language === undefined) {
        throw new UsageError('No language was given', { hint: 'give one with --language, or translations with --in.' })
      }
      const strings = stringsFor(file, flags.language)
      if (flags.out !== undefined) await writeNamed(flags.out, `${JSON.stringify(strings, undefined, 2)}\n`)
      return strings
    },
    print(result, { flags: { out } }) {
      if ('file' in result) {
        const { file, language, changed, missing } = result
        const rest = missing === 0 ? '' : `; ${missing} without a translation`
        return `${file}: ${counted(changed, 'text')} changed in ${language}${rest}.`
      }
      if (out === undefined) return JSON.stringify(result, undefined, 2)
      const missing = result.entries.filter(({ target }) => target === '').length
      return `Wrote ${out} (${result.entries.length} texts, ${missing} without a translation).`
    },
  }),
}

async function askFor(flag: string, question: string, noInput = false): Promise<string> {
  const answer = canAsk({ noInput }) ? await askText(question) : ''
  if (answer === '') throw new UsageError(`No ${flag} was given`, { hint: `give it with --${flag}.` })
  return answer
}

async function askKind(noInput = false): Promise<StarterKind> {
  const choices = starterKinds.map((value) => ({ name: value, value }))
  if (canAsk({ noInput })) return choose('Which kind?', choices)
  throw new UsageError('No kind was given', { hint: `give one with --kind: ${starterKinds.join(', ')}.` })
}
