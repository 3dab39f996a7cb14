import { Args, Flags } from '@oclif/core'
import { BaseCommand, terminalWidth } from '../../cli/command/base-command.ts'
import { UsageError } from '../../cli/command/cli-error.ts'
import { limitFlag, showLimits } from '../../cli/records.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'
import { defaultLimits, type LimitName, limitNames, MAX_LIMIT } from '../../core/rules/pass/workspace-limits.ts'

const summaries: Record<LimitName, string> = {
  webhooks: 'Webhook endpoints.',
  passes: 'Passes of every status.',
  storedBytes: 'Bytes of images, definitions and variables, such as 10GiB.',
  waitingJobs: 'Jobs that may wait.',
  draftsPerTemplate: 'Drafts of a template.',
  scheduledSends: 'Scheduled notifications and broadcasts.',
  requestsInFlight: 'Requests in flight, at each server process.',
}

export default class WorkspaceLimits extends BaseCommand {
  static override summary = 'Show or change the limits of a workspace.'
  static override description =
    'Prints each limit with its usage. A flag changes one limit; "default" restores the default. Running servers ' +
    'apply changes within two seconds. Resources beyond a lowered limit remain, but no more can be added.'
  static override examples = [
    '<%= config.bin %> workspace limits acme',
    '<%= config.bin %> workspace limits acme --webhooks 200 --stored-bytes 50GiB',
    '<%= config.bin %> workspace limits acme --passes default --json',
  ]
  static override args = { workspace: Args.string({ description: 'Name or ID of the workspace.', required: true }) }
  static override flags = {
    ...databaseFlags,
    ...Object.fromEntries(
      limitNames.map((name) => {
        const summary = `${summaries[name]} Default: ${defaultLimits[name]}.`
        return [limitFlag(name), Flags.string({ summary, helpGroup: 'LIMITS' })]
      }),
    ),
  }

  async run() {
    const { args, flags } = await this.parse(WorkspaceLimits)
    const given: Record<string, unknown> = flags
    const changes = Object.fromEntries(
      limitNames.flatMap((name) => {
        const text = given[limitFlag(name)]
        return typeof text === 'string' ? [[name, parseLimit(text, name)]] : []
      }),
    )
    const { setLimits } = await import('../../server/operator/operator.ts')
    const found = await setLimits(flags.database, args.workspace, { changes, at: new Date() })
    this.log(showLimits(found.limits, found.usage, terminalWidth()))
    return found
  }
}

const units: Record<string, number> = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 }

/** @throws UsageError */
function parseLimit(text: string, name: LimitName): number | null {
  if (text === 'default') return null
  const [, digits, unit] = /^(\d{1,16})([KMGT]iB)?$/.exec(text) ?? []
  const value = Number(digits) * (unit ? units[unit]! : 1)
  if (digits !== undefined && value <= MAX_LIMIT && (!unit || name === 'storedBytes')) return value
  const example = name === 'storedBytes' ? 'a number of bytes such as 10737418240 or 10GiB' : 'a whole number'
  throw new UsageError(`--${limitFlag(name)} must be ${example}, or default, not "${text}"`)
}
