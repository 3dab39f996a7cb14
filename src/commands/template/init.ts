import { writeFile } from 'node:fs/promises'
import { Args, Flags } from '@oclif/core'
import { parsePath } from '../../cli/arguments/path.ts'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { CliError, UsageError } from '../../cli/command/cli-error.ts'
import { programName } from '../../cli/command/program.ts'
import { askText, canAsk, choose } from '../../cli/command/prompt.ts'
import { keyOf, starterKinds, starterTemplate } from '../../cli/template/starters.ts'

export default class TemplateInit extends BaseCommand {
  static override summary = 'Create a template file.'
  static override description =
    'On a terminal, asks for missing values. The file is complete, so that you can use it with template push. An ' +
    'existing file is not replaced.'
  static override examples = [
    '<%= config.bin %> template init',
    '<%= config.bin %> template init ticket.json --kind event-ticket --name "Day ticket" --organization "Spring fair"',
  ]
  static override args = {
    file: Args.string({ description: 'File to write; KEY.json by default.', parse: parsePath }),
  }
  static override flags = {
    kind: Flags.option({ summary: 'Kind of the pass.', options: starterKinds })(),
    name: Flags.string({ summary: 'Name of the template, such as "Day ticket".' }),
    organization: Flags.string({ summary: 'Issuer, as shown on cards.' }),
    key: Flags.string({ summary: 'Key for files and commands; by default derived from the name.' }),
  }

  async run() {
    const { args, flags } = await this.parse(TemplateInit)
    const kind = starterKinds.find((known) => known === flags.kind) ?? (await askKind(flags['no-input']))
    const name = flags.name ?? (await this.#ask('name', 'Name, such as "Day ticket": ', flags['no-input']))
    const organization =
      flags.organization ?? (await this.#ask('organization', 'Organization, as cards show it: ', flags['no-input']))
    const key = flags.key ?? keyOf(name)
    if (key === '')
      throw new UsageError(`No key can be derived from ${name}`, { hint: 'give one with --key, such as day-ticket.' })
    const path = args.file ?? `${key}.json`
    const file = starterTemplate(kind, { key, name, organization })
    await writeNew(path, `${JSON.stringify(file, undefined, 2)}\n`)
    this.log(`Wrote ${path}.`)
    this.note(`Next: change it, then ${programName()} template push ${path}`)
    return { file: path, kind, key }
  }

  async #ask(flag: string, question: string, noInput: boolean): Promise<string> {
    const said = canAsk({ noInput }) ? await askText(question) : ''
    if (said === '') throw new UsageError(`No ${flag} was given`, { hint: `give it with --${flag}.` })
    return said
  }
}

function askKind(noInput: boolean): Promise<(typeof starterKinds)[number]> {
  const choices = starterKinds.map((value) => ({ name: value, value }))
  if (canAsk({ noInput })) return choose('Which kind?', choices)
  throw new UsageError('No kind was given', { hint: `give one with --kind: ${starterKinds.join(', ')}.` })
}

async function writeNew(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    throw new CliError(`${path} already exists`, { hint: 'choose another file.' })
  }
}
