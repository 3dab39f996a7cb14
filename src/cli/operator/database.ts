import { styleText } from 'node:util'
import { Args, Flags } from '@oclif/core'
import type { Check } from '../../server/operator/doctor/check.ts'
import type { Holdings } from '../../storage/operations/erasure.ts'
import { parsePath } from '../arguments/list-flags.ts'
import { passFlags } from '../arguments/pass-argument.ts'
import { UsageError } from '../command/cli-error.ts'
import { count, printable, table } from '../command/output.ts'
import { startProgress } from '../command/progress.ts'
import { localCommand, type ResourceCommands } from '../command/resource-command.ts'
import { databaseFlags, mistypedVariables, serveFlags, serverConfig, workspaceFlags } from '../settings/server-flags.ts'
import { canColor } from '../settings/settings.ts'

const MEGABYTE = 1_000_000

const copySteps = {
  copy: 'Copying rows.',
  check: 'Comparing the copy with the source.',
  finish: 'Creating the indexes.',
}

const aboutKey = {
  matches: (file: string) => `The server key ${file} matches the backup.`,
  missing: (file: string) =>
    `The server key ${file} does not exist. Before you start a server, put the key of the backup there (mode ` +
    '0600), or set PASSES_SERVER_KEY. The server does not start without it.',
  differs: (file: string) =>
    `The server key ${file} does NOT match the backup, and a server does not start with it. Put the ` +
    'right key there, or set PASSES_SERVER_KEY.',
  unused: () => 'No server ever started on the database of the backup: any server key works.',
}

export const commands: ResourceCommands = {
  migrate: localCommand({
    summary: 'Migrate the database.',
    description:
      'The server also migrates the database when it starts. You can run the command at any time, even concurrently.',
    examples: ['migrate', 'migrate --database postgres://passes:secret@db/passes'],
    flags: databaseFlags,
    async run({ flags: { database: url } }) {
      const { openDatabase } = await import('../../storage/db/database.ts')
      const { onDatabase } = await import('../../server/boot/database-error.ts')
      const { migrate } = await import('../../storage/db/migrate.ts')
      const database = openDatabase(url)
      try {
        return { applied: await onDatabase(url, () => migrate(database)) }
      } finally {
        await database.close()
      }
    },
    print: ({ applied }) => (applied.length > 0 ? `Applied ${applied.join(', ')}.` : 'The database is up to date.'),
  }),
  backup: localCommand({
    summary: 'Copy a SQLite database to a file while servers use it.',
    description:
      'The copy is consistent, and contains every change that a server acknowledged before the start. Requests do ' +
      'not wait for the copy. The file gets its final name only after the copy is verified. The copy does not ' +
      'contain the server key. Store this key in another place, too: without it, webhook secrets and links cannot be ' +
      'used. For PostgreSQL, use pg_dump; see docs/backup.md.',
    examples: [
      'backup /var/backups/passes-2027-05-31.db',
      'backup passes.backup --database sqlite:./data/passes.db --force',
    ],
    args: { file: Args.string({ description: 'File to write.', required: true, parse: parsePath }) },
    flags: {
      ...databaseFlags,
      force: Flags.boolean({ summary: 'Replace an existing backup. Other files are never replaced.', default: false }),
    },
    async run({ args: { file }, flags }) {
      const database = await sqliteFileOf(
        flags.database,
        `pg_dump --format=custom --file=${file} "$PASSES_DATABASE_URL"`,
      )
      const { backUp } = await import('../../server/operator/backup.ts')
      const { serverKeyFile } = await import('../../server/config.ts')
      using progress = await startProgress({ total: 100, unit: 'MB' })
      const onProgress = (bytes: number, total: number) =>
        progress.update({ done: (bytes / total) * 100, rows: Math.round(bytes / MEGABYTE), failed: 0 })
      const made = await backUp(database, file, { force: flags.force, onProgress })
      return { ...made, serverKeyFile: serverKeyFile({ databaseUrl: flags.database })! }
    },
    print: ({ file, bytes }) => `Wrote ${file} (${count(Math.ceil(bytes / MEGABYTE))} MB).`,
    note: (made) =>
      'The copy does not contain the server key. Without this key, webhook secrets cannot be decrypted and links are ' +
      `invalid. Store the key once in another place, since it does not change.\n\n  cp ${made.serverKeyFile} …\n\nIf the ` +
      'key comes from PASSES_SERVER_KEY, keep the source of that variable. The copy also omits the folder of the ' +
      'sandbox.',
  }),
  restore: localCommand({
    summary: 'Replace a SQLite database with a backup.',
    description:
      'Stop the servers first: a database that is open is not replaced. The checksum and the pages of the backup are ' +
      'verified. Then the backup is migrated and put in place in one step. The old database is kept next to the new ' +
      'one. Jobs that were waiting at the time of the backup are repeated. For PostgreSQL, use pg_restore; see ' +
      'docs/backup.md.',
    examples: [
      'restore /var/backups/passes-2027-05-31.db',
      'restore passes.backup --database sqlite:./data/passes.db --force',
    ],
    args: {
      file: Args.string({ description: 'Backup to restore.', required: true, parse: parsePath }),
    },
    flags: {
      ...databaseFlags,
      force: Flags.boolean({
        summary: 'Replace a database that contains data; the replaced file is kept.',
        default: false,
      }),
      unverified: Flags.boolean({
        summary: 'Accept a backup without a checksum, such as one of an older version.',
        default: false,
      }),
    },
    async run({ args: { file }, flags: { database: url, force, unverified } }) {
      const database = await sqliteFileOf(
        url,
        `pg_restore --list ${file} | grep -v ' EXTENSION ' > passes.list && pg_restore --use-list=passes.list ` +
          `--clean --if-exists --single-transaction --dbname="$PASSES_DATABASE_URL" ${file}`,
      )
      const { restore } = await import('../../server/operator/backup.ts')
      return restore(file, database, { force, unverified, at: new Date() })
    },
    print: ({ database }) => `Restored ${database}.`,
    note: ({ database, verified, replaced, key }) =>
      [
        ...(verified ? [] : ['The backup has no checksum, so its content cannot be verified.']),
        ...(replaced ? [`The previous database is kept as ${replaced}.`] : []),
        aboutKey[key](`${database}.key`),
      ].join('\n'),
  }),
  copy: localCommand({
    summary: 'Copy a database to another one: from SQLite to PostgreSQL, or back.',
    description:
      'Stop the servers first, or start them with --freeze, so that they do not write. All rows are copied, read ' +
      'again, and compared before a server can use the copy. If the command is interrupted, run it again to resume. ' +
      'Passes, links, phones, and tokens keep working if the server key is the same. See docs/guides/growing.md.',
    examples: [
      'PASSES_COPY_TO=postgres://passes:secret@db/passes <%= config.bin %> copy --from sqlite:./passes.db',
      'PASSES_COPY_FROM=postgres://passes:secret@db/passes <%= config.bin %> copy --to sqlite:./passes.db',
    ],
    flags: {
      from: Flags.string({
        summary: 'Source database: sqlite:FILE or postgres://user:password@host/name.',
        env: 'PASSES_COPY_FROM',
        required: true,
      }),
      to: Flags.string({
        summary: 'Target database: an empty PostgreSQL database, or a new SQLite file.',
        env: 'PASSES_COPY_TO',
        required: true,
      }),
    },
    async run({ flags: { from, to } }) {
      const { copy } = await import('../../server/operator/copy-database.ts')
      const { withoutPassword } = await import('../../server/boot/database-error.ts')
      const { serverKeyFile } = await import('../../server/config.ts')
      using progress = await startProgress({ total: 100 })
      let step: keyof typeof copySteps | undefined
      const tables = await copy(
        { from, to },
        {
          at: new Date(),
          onProgress: ({ rows, total, ...state }) => {
            if (state.step !== step) progress.note(copySteps[state.step])
            step = state.step
            progress.update({ done: (rows / total) * 100, rows, failed: 0 })
          },
        },
      )
      const rows = tables.reduce((sum, one) => sum + one.rows, 0)
      const key = serverKeyFile({ databaseUrl: from })
      return { key, copied: { from: withoutPassword(from), to: withoutPassword(to), rows, tables } }
    },
    value: ({ copied }) => copied,
    print: ({ copied: { to, rows, tables } }) => {
      const filled = table(
        tables.filter((one) => one.rows > 0),
        [
          { title: 'table', value: (one) => one.name },
          { title: 'rows', value: (one) => count(one.rows) },
        ],
      )
      return `Copied ${count(rows)} rows to ${to}. The contents are the same.\n\n${filled}`
    },
    note: ({ key }) =>
      '\nThe new server needs the server key of the old one ' +
      `(PASSES_SERVER_KEY${key ? `: the content of ${key}, if you did not set a key` : ''}). Do not start a server ` +
      'on the old database again, except with --freeze. Its writes would not reach the new database.',
  }),
  'pass:erase': localCommand({
    summary: 'Erase the personal data of a pass, irreversibly.',
    description:
      'Accesses the database directly, also while servers run. The pass becomes void, and wallets get the void card ' +
      'without the data. Label, variables, externalPassId, messages, notes of scans, and their copies in events are ' +
      'deleted, and pending deliveries are not sent. Results and counts of scans remain. docs/privacy.md lists the ' +
      'stored data.',
    examples: [
      'pass erase 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33 --dry-run',
      'pass erase T-1 --external --workspace acme --yes --json',
    ],
    args: {
      id: Args.string({ description: 'ID of the pass, or with --external its external ID.', required: true }),
    },
    flags: {
      ...workspaceFlags,
      ...passFlags,
      'dry-run': Flags.boolean({ summary: 'Show the data that would be erased, and erase nothing.' }),
    },
    asks: true,
    async run({ args, flags, ask }) {
      const { withWorkspace } = await import('../../server/operator/operator.ts')
      const { erasePass, getPassToErase } = await import('../../server/operator/erase-pass.ts')
      return withWorkspace(flags, async (workspace, store, database) => {
        const { id, status } = await getPassToErase(store, workspace.id, { id: args.id, isExternal: flags.external })
        if (flags['dry-run']) {
          return { id, dryRun: true, erased: await store.erasure.count(workspace.id, id), voided: status !== 'VOID' }
        }
        await ask(`Permanently erase all data about the holder of pass ${id}?`)
        return erasePass({ store, database }, workspace.id, id, new Date())
      })
    },
    print: (result) =>
      `${'dryRun' in result ? 'Would erase' : 'Erased'} from pass ${result.id}: label, externalPassId, ${listed(result.erased)}.`,
    note(result) {
      if ('dryRun' in result) return undefined
      const backups = 'Existing backups and the door lists of scanners still contain the data.'
      if (result.overwritten) return backups
      return `The write-ahead log contains parts of the data until the next write of a server.\n${backups}`
    },
  }),
  doctor: localCommand({
    summary: "Check a server's settings and environment, and show how to fix problems.",
    description:
      'Run it on the machine of the server, with the flags and variables of "passes serve". It checks the ' +
      'configuration, the database, the server key, file permissions, certificates and keys of the platforms, the ' +
      'public URL, webhooks, and jobs. It changes nothing, except with --write or --recount. Exits with 1 if a ' +
      'check failed.',
    examples: [
      'doctor',
      {
        description: 'Print how to fix each failed check, for a script',
        command: 'doctor --json | jq -r \'.checks[] | select(.status == "FAILED") | .fix\'',
      },
      'doctor --write',
      'PASSES_DATABASE_URL=postgres://passes:secret@db/passes <%= config.bin %> doctor --production',
    ],
    flags: {
      ...serveFlags,
      recount: Flags.boolean({
        summary: 'Recount the counters of lists and figures, correct them, and show differences.',
      }),
      write: Flags.boolean({
        summary:
          "At Google, create a class with a logo and a location, and show Google's response. Each run uses the same " +
          'class, a draft that no user sees.',
      }),
    },
    async run({ flags, note }) {
      for (const warning of mistypedVariables()) note(warning)
      const { diagnose } = await import('../../server/operator/doctor/doctor.ts')
      const checks = await diagnose({ config: serverConfig(flags), canWrite: flags.write, canRecount: flags.recount })
      const countOf = (status: Check['status']) => checks.filter((check) => check.status === status).length
      const counts = { passed: countOf('PASSED'), failed: countOf('FAILED'), skipped: countOf('SKIPPED') }
      if (counts.failed > 0) process.exitCode = 1
      return { ...counts, checks }
    },
    print({ passed, failed, skipped, checks }, { flags }) {
      const lines = checkLines(checks, { color: canColor(process.stdout) && !flags['no-color'] })
      return [...lines, '', `${passed} passed, ${failed} failed, ${skipped} skipped.`].join('\n')
    },
  }),
}

/** @throws UsageError if the database is not SQLite; for PostgreSQL, with the equivalent command */
async function sqliteFileOf(url: string, instead: string): Promise<string> {
  const { sqliteFile } = await import('../../storage/db/database.ts')
  const file = sqliteFile(url)
  if (file !== undefined) return file
  if (/^postgres(ql)?:/.test(url)) {
    throw new UsageError('This command supports only SQLite, not PostgreSQL', {
      hint: `${instead} (see docs/backup.md).`,
    })
  }
  throw new UsageError(`--database must be sqlite:FILE, not ${url}`)
}

function listed({ variables, images, notifications, scans, events, pendingDeliveries }: Holdings): string {
  const parts = [
    `${count(variables)} variables`,
    ...(images > 0 ? [`${count(images)} images that nothing else uses`] : []),
    `${count(notifications)} notifications`,
    `details of ${count(scans)} scans`,
    `data of ${count(events)} events (${count(pendingDeliveries)} deliveries are not sent)`,
  ]
  return parts.join(', ')
}

const colors = { PASSED: 'green', FAILED: 'red', SKIPPED: 'yellow' } as const

function checkLines(checks: readonly Check[], { color }: { color: boolean }): string[] {
  const titles = checks.map(({ group, name }) => `${group}: ${name}`)
  const width = Math.max(...titles.map((title) => title.length))
  return checks.flatMap((check, index) => {
    const { status, message } = check
    const label = status.padEnd('SKIPPED'.length)
    const styled = color ? styleText(colors[status], label, { validateStream: false }) : label
    const line = `${styled}  ${titles[index]!.padEnd(width)}  ${printable(message)}`
    return check.status === 'FAILED' ? [line, `${' '.repeat(label.length)}  Next: ${printable(check.fix)}`] : [line]
  })
}
