import { styleText } from 'node:util'
import { Flags } from '@oclif/core'
import { BaseCommand } from '../cli/command/base-command.ts'
import { printable } from '../cli/command/output.ts'
import { mistypedVariables, serveFlags, serverConfig } from '../cli/settings/server-flags.ts'
import { canColor } from '../cli/settings/settings.ts'

export default class Doctor extends BaseCommand {
  static override summary = "Check a server's settings and environment, and show how to fix problems."
  static override description =
    "Run it on the server's machine, with the flags and variables of passes serve. It checks the configuration, the " +
    'database, the server key, file permissions, certificates and keys of the platforms, the public URL, webhooks, ' +
    'and jobs, and changes nothing. Exits with 1 if a check failed. With --write, it also creates a class at Google ' +
    "with a logo and a location, and shows Google's response; the class is a draft that no user sees, and is always " +
    'the same one. With --recount, it also corrects the counters of lists and figures.'
  static override examples = [
    '<%= config.bin %> doctor',
    {
      description: 'Fixes of failed checks, for a script',
      command: '<%= config.bin %> doctor --json | jq -r \'.checks[] | select(.status == "FAILED") | .fix\'',
    },
    '<%= config.bin %> doctor --write',
    'PASSES_DATABASE_URL=postgres://passes:secret@db/passes <%= config.bin %> doctor --production',
  ]
  static override flags = {
    ...serveFlags,
    recount: Flags.boolean({ summary: 'Also recount all counters, correct them, and show differences.' }),
    write: Flags.boolean({ summary: 'Also create a class with a logo and a location at Google.' }),
  }

  async run() {
    const { flags } = await this.parse(Doctor)
    for (const warning of mistypedVariables()) this.note(warning)
    const { diagnose } = await import('../server/operator/doctor/doctor.ts')
    const checks = await diagnose({ config: serverConfig(flags), canWrite: flags.write, canRecount: flags.recount })
    this.log(showChecks(checks, { color: canColor(process.stdout) && !flags['no-color'] }))
    const summary = summarizeChecks(checks)
    if (summary.failed > 0) process.exitCode = 1
    return { ...summary, checks }
  }
}

interface Check {
  group: string
  name: string
  status: 'PASSED' | 'FAILED' | 'SKIPPED'
  message: string
  fix?: string
}

const colors = { PASSED: 'green', FAILED: 'red', SKIPPED: 'yellow' } as const

/** Formats one check per line; below a failed one, the fix. */
function showChecks(checks: readonly Check[], { color }: { color: boolean }): string {
  const titles = checks.map(({ group, name }) => `${group}: ${name}`)
  const width = Math.max(...titles.map((title) => title.length))
  const lines = checks.flatMap(({ status, message, fix }, index) => {
    const label = status.padEnd('SKIPPED'.length)
    const styled = color ? styleText(colors[status], label, { validateStream: false }) : label
    const line = `${styled}  ${titles[index]!.padEnd(width)}  ${printable(message)}`
    return fix === undefined ? [line] : [line, `${' '.repeat(label.length)}  Next: ${printable(fix)}`]
  })
  const { passed, failed, skipped } = summarizeChecks(checks)
  return [...lines, '', `${passed} passed, ${failed} failed, ${skipped} skipped.`].join('\n')
}

function summarizeChecks(checks: readonly Check[]) {
  const count = (status: Check['status']) => checks.filter((check) => check.status === status).length
  return { passed: count('PASSED'), failed: count('FAILED'), skipped: count('SKIPPED') }
}
