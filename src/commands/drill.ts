import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Flags } from '@oclif/core'
import { BaseCommand, terminalWidth } from '../cli/command/base-command.ts'
import { InterruptedError, UsageError } from '../cli/command/errors.ts'
import { count } from '../cli/command/output.ts'
import { onInterrupt } from '../cli/command/program.ts'
import { makePrivateFolder } from '../files/private-file.ts'

const keys = ['renewal', 'public-url', 'server-key', 'postgres', 'hand-over'] as const

export default class Drill extends BaseCommand {
  static override summary = 'Play whatever may happen to installed passes, and count what phones lose by it.'
  static override description =
    'In a folder of its own, with servers, virtual phones and another provider that it starts itself: phones install passes ' +
    'from the other provider; then come a take-over, a renewed certificate, a new public URL, a rotation of the server key, ' +
    'PostgreSQL in place of SQLite, and a second server that takes over, all under a load of updates and scans. Prints a table, and ' +
    'ends with 1 where a phone was lost, had to install again, was given a package that it or openssl refuses, or missed an ' +
    'update, or where a scan was refused wrongly. docs/guides/drill.md says how to read it. Needs openssl.'
  static override examples = [
    '<%= config.bin %> drill',
    {
      description: 'The long form, through PostgreSQL',
      command:
        'PASSES_DRILL_POSTGRES=postgres://passes:secret@127.0.0.1/drill <%= config.bin %> drill --phones 100000 --json',
    },
  ]
  static override flags = {
    phones: Flags.integer({ summary: 'Phones, each with a pass.', default: 1_000, min: 1, max: 1_000_000 }),
    postgres: Flags.string({
      summary: 'An empty PostgreSQL database; without it that stage is left out.',
      env: 'PASSES_DRILL_POSTGRES',
    }),
    stage: Flags.option({ options: keys, multiple: true, multipleNonGreedy: true })({
      summary: 'Play only this stage between the take-over and the last update. Repeatable.',
    }),
    dir: Flags.string({ summary: 'Work in this empty folder, and keep it.' }),
    keep: Flags.boolean({ summary: 'Keep the folder with databases, files and the log of all programs.' }),
  }

  async run() {
    const { flags } = await this.parse(Drill)
    if (flags.stage?.includes('postgres') && flags.postgres === undefined) {
      throw new UsageError('--stage postgres needs --postgres: an empty PostgreSQL database')
    }
    if (flags.postgres !== undefined) {
      if (!/^postgres(ql)?:\/\//.test(flags.postgres)) throw new UsageError('--postgres must begin with postgres://')
      const { requireEmpty } = await import('../server/operator/copy.ts')
      await requireEmpty(flags.postgres)
    }
    const folder =
      flags.dir === undefined ? await mkdtemp(join(tmpdir(), 'passes-drill-')) : await emptyFolder(flags.dir)
    const stop = new AbortController()
    const end = () => stop.abort(new InterruptedError('The drill was stopped.'))
    const release = onInterrupt(end)
    // Child servers must not outlive the drill.
    process.on('SIGTERM', end)
    let isKept = flags.keep || flags.dir !== undefined
    try {
      const { playDrill } = await import('../cli/drill/drill.ts')
      const { drillTable, isSound, total } = await import('../cli/drill/table.ts')
      const { startSandboxProvider: startProvider } = await import('../server/boot/sandbox.ts')
      const { phones, postgres, stage: only = [] } = flags
      const note = (message: string) => this.note(message)
      const report = await playDrill({ folder, phones, postgres, only, startProvider, note, signal: stop.signal })
      const all = total(report.stages)
      this.log(`${drillTable(report.stages, terminalWidth())}\n`)
      for (const { stage, why } of report.leftOut) this.log(`Left out: ${stage}, since ${why}.`)
      this.log(
        `openssl was given ${count(all.packagesChecked)} of ${count(all.packages)} packages, phones all of them.`,
      )
      if (!isSound(all)) {
        process.exitCode = 1
        isKept = true
        this.note('Something was lost.')
      }
      return { phones, ...report, all, ...(isKept && { folder }) }
    } finally {
      release()
      process.off('SIGTERM', end)
      if (isKept) this.note(`Kept ${folder}`)
      else await rm(folder, { recursive: true, force: true })
    }
  }
}

/** @throws UsageError if the folder is not empty or cannot be */
async function emptyFolder(path: string): Promise<string> {
  const folder = resolve(path)
  try {
    makePrivateFolder(folder)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why = code === 'EEXIST' || code === 'ENOTDIR' ? 'a file stands there' : code
    throw new UsageError(`--dir ${path} cannot be made (${why}): name a folder that is empty, or not there yet`)
  }
  if ((await readdir(folder)).length > 0) throw new UsageError(`--dir ${path} must be empty`)
  return folder
}
