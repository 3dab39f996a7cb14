import { Args, Flags } from '@oclif/core'
import { parseOut, rawCellsFlag } from '../cli/arguments/list-flags.ts'
import { BaseCommand } from '../cli/command/base-command.ts'
import { CliError, UsageError } from '../cli/command/cli-error.ts'
import { forceFlag, requireReplaceable } from '../cli/command/existing-file.ts'
import { count, printable } from '../cli/command/output.ts'

export default class Packages extends BaseCommand {
  static override summary = 'Convert .pkpass files of another provider to a CSV file for import.'
  static override description =
    'Writes one row per package in the folder: serial number (also as the external ID), pass type, authentication ' +
    'token, barcode, status, the first primary field as the label, and one column per field. Rename the columns to ' +
    'the variables of your template, and import the file with "passes import". Also prints the address from which ' +
    'phones fetch updates. Signatures are not checked. Exits with 1 if a file could not be read.'
  static override examples = [
    '<%= config.bin %> packages ./old-passes --out members.csv',
    '<%= config.bin %> packages ./old-passes --out members.csv --json',
  ]
  static override args = {
    folder: Args.string({ description: 'Folder of .pkpass files.', required: true }),
  }
  static override flags = {
    out: Flags.string({ summary: 'CSV file to write, or - for stdout.', required: true, parse: parseOut }),
    force: forceFlag,
    'raw-cells': rawCellsFlag,
  }

  async run() {
    const { args, flags } = await this.parse(Packages)
    if (flags.out === '-' && this.jsonEnabled())
      throw new UsageError('--json and --out - both write to stdout: remove one')
    // Keep an existing file. Overwriting it would undo a user's edits of its column names.
    if (flags.out !== '-') requireReplaceable(flags.out, flags.force)
    const { packageColumns, readPackages } = await import('../cli/import/read-packages.ts')
    const { openOutput } = await import('../cli/bulk/output-file.ts')
    const { outputDialect } = await import('../cli/bulk/csv.ts')
    const { startProgress } = await import('../cli/command/progress.ts')
    const rows: { own: Record<string, string>; fields: Map<string, string> }[] = []
    const failed: { file: string; error: string }[] = []
    const urls = new Set<string>()
    const names = new Set<string>()
    {
      using progress = await startProgress({ total: undefined, unit: 'packages' })
      for await (const { file, ...read } of readPackages(args.folder)) {
        if ('error' in read) failed.push({ file, error: read.error })
        else {
          rows.push(read.row)
          for (const name of read.row.fields.keys()) names.add(name)
          if (read.row.webServiceUrl) urls.add(read.row.webServiceUrl)
        }
        progress.update({ done: rows.length + failed.length, rows: rows.length, failed: failed.length })
      }
    }
    for (const { file, error } of failed) this.note(printable(`${file}: ${error}`))
    if (rows.length === 0) {
      const none = failed.length === 0 ? 'contains no .pkpass file' : 'contains no readable .pkpass file'
      throw new CliError(`${args.folder} ${none}`, { code: 'NOT_FOUND' })
    }
    const dialect = outputDialect({ rawCells: flags['raw-cells'] })
    const header = [...packageColumns, ...names]
    await using out = await openOutput(flags.out, { keep: 0, header, dialect })
    const cellsOf = ({ own, fields }: (typeof rows)[number]) => [
      ...packageColumns.map((name) => own[name] ?? ''),
      ...[...names].map((name) => fields.get(name) ?? ''),
    ]
    await out.append(rows.map(cellsOf))
    await out.sync()
    this.note(`Packages read: ${count(rows.length)}`)
    for (const url of urls) this.note(printable(`Phones fetch updates from ${url}${prefixHint(url)}`))
    if (failed.length > 0) process.exitCode = 1
    return { packages: rows.length, failed, out: flags.out, webServiceUrls: [...urls] }
  }
}

/** Returns a hint on how to serve the path of a URL, or an empty text if this path is served by default. */
function prefixHint(url: string): string {
  const path = URL.canParse(url) ? new URL(url).pathname.replace(/\/+$/, '') : ''
  return path === '' || path === '/apple' ? '' : `. To serve this path, run: passes serve --apple-prefix ${path}`
}
