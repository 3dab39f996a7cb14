import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { Args, Flags } from '@oclif/core'
import { languageFlag } from '../../cli/arguments/list-flags.ts'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { CliError, UsageError, withName } from '../../cli/command/cli-error.ts'
import { untilStopped } from '../../cli/command/program.ts'
import { DevFiles } from '../../cli/template/dev-files.ts'
import { languagesOf, writtenOf } from '../../core/rules/template/definition-languages.ts'

export default class TemplateDev extends BaseCommand {
  static override summary = 'Show a template file on both phones in a browser, and reload it on changes.'
  static override description =
    'Serves a page on this machine. The page shows an iPhone and an Android phone, light and dark, and each field ' +
    'with its warnings. Saved changes appear immediately, and the page keeps its scroll position. If the file is not ' +
    'valid, the page shows the error with line and column, and the phones keep the last valid version. Select the ' +
    'holder and the language on the page. Needs neither a passes server nor an account.'
  static override examples = [
    '<%= config.bin %> template dev ticket.json',
    {
      description: 'Show holders from a file, on a fixed port',
      command: '<%= config.bin %> template dev ticket.json --rows attendees.csv --port 4000',
    },
    {
      description: 'Show the template in Arabic first',
      command: '<%= config.bin %> template dev ticket.json --language ar',
    },
  ]
  static override args = { file: Args.string({ description: 'Template file.', required: true }) }
  static override flags = {
    rows: Flags.string({
      summary: 'CSV file with holders to select from, in the format of "passes issue"; the first 100 rows are used.',
    }),
    language: languageFlag(),
    port: Flags.integer({
      summary: 'Port of the page on 127.0.0.1; 0 selects a free one.',
      min: 0,
      max: 65_535,
      default: 0,
    }),
  }

  async run() {
    const { args, flags } = await this.parse(TemplateDev)
    // Fail if a file is missing at the start, because its name is probably mistyped.
    for (const path of [args.file, ...(flags.rows === undefined ? [] : [flags.rows])])
      await withName(path, () => stat(path))
    const files = new DevFiles(args.file, flags.rows)
    if (flags.language !== undefined) requireLanguage(args.file, await files.read(), flags.language)
    const { startTemplateDev } = await import('../../server/pages/template-dev/dev-server.ts')
    const dev = await startTemplateDev({
      file: basename(args.file),
      port: flags.port,
      read: () => files.read(),
      files: () => files.paths(),
      locate: (notes) => files.locate(notes),
    }).catch((error) => {
      if (error.code !== 'EADDRINUSE') throw error
      throw new CliError(`Port ${flags.port} is in use`, { hint: 'give another --port, or omit it for a free one.' })
    })
    const url = flags.language === undefined ? dev.url : `${dev.url}#language=${flags.language}`
    if (this.jsonEnabled()) this.logJson({ url, file: args.file })
    else this.log(`${args.file} at ${url}`)
    this.note('Press Ctrl-C to stop.')
    await untilStopped((stop) => once(stop, 'abort'), { bySigterm: true })
    await dev.close()
  }
}

/**
 * Checks that the definition has the language. If the file is unreadable, skips the check: the page then starts in the
 * default language.
 */
function requireLanguage(path: string, reading: Awaited<ReturnType<DevFiles['read']>>, language: string): void {
  if (!reading.content) return
  const languages = languagesOf(writtenOf(reading.content.definition))
  if (languages.includes(language)) return
  const hint = languages.length === 0 ? 'it defines none: omit --language.' : `it has ${languages.join(', ')}.`
  throw new UsageError(`${path} has no language ${language}`, { hint })
}
