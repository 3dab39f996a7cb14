import { randomUUID } from 'node:crypto'
import { Flags } from '@oclif/core'
import type { ScanStatsByGate, ScanStatsByProject, ScanStatsByTime } from '../../core/contract/scans/scans.ts'
import { bucketUnits } from '../../core/contract/schemas/common.ts'
import { RedemptionPolicy } from '../../core/contract/schemas/redemption.ts'
import { formerly, PAST, pastFlag, repeatable } from '../arguments/list-flags.ts'
import { idArg, namedFlag, requiredFlag } from '../arguments/named.ts'
import { terminalWidth } from '../command/base-command.ts'
import { duration } from '../command/output.ts'
import { callCommand, PROJECT, type ResourceCommands, SCAN } from '../command/resource-command.ts'
import { showByTime, timeZoneOf } from '../figures-output.ts'
import { showReplay, showScan, showStats, showStatsByGate, showStatsByProject } from '../records.ts'
import { ledgerFlags, ledgerQuery } from '../scan-list/formats.ts'
import { readJsonFile } from '../template/json-file.ts'

const NOTE_EVERY_MS = 5_000

const args = { id: idArg('scan') }

export const commands: ResourceCommands = {
  'scans:get': callCommand({
    summary: 'Show a scan.',
    examples: [`scans get ${SCAN}`, `scans get ${SCAN} --json`],
    args,
    call: ({ scans }, { args: { id } }) => scans.get({ params: { id } }),
    print: showScan,
  }),
  'scans:stats': callCommand({
    summary: 'Count scans, redeemed passes, and open passes.',
    description:
      'A pass is redeemed if an accepted scan matches the filter and was not reversed. Otherwise, it is open.',
    examples: [
      `scans stats --project ${PROJECT} --context 2027-05-31`,
      'scans stats --group-by project --json',
      'scans stats --group-by gate --from 2027-05-31T08:00:00Z',
      'scans stats --by hour --from 2027-05-31T00:00:00Z --to 2027-06-01T00:00:00Z --gate North',
    ],
    flags: {
      ...ledgerFlags,
      'context-from': Flags.string({
        summary: 'Only scans in this context or a later one, in text order.',
        exclusive: ['context'],
      }),
      'context-until': Flags.string({
        summary: 'Only scans in this context or an earlier one, in text order.',
        exclusive: ['context'],
      }),
      'group-by': Flags.option({
        summary: 'Show counts for each project, or for each gate.',
        options: ['project', 'gate'] as const,
      })(),
      by: Flags.option({
        summary: 'Show counts for each period of this length; needs --from, and excludes scans exactly at --to.',
        options: bucketUnits,
        exclusive: ['group-by'],
        dependsOn: ['from'],
      })(),
      'time-zone': Flags.string({
        summary: 'With --by: time zone of the periods, such as Europe/Berlin (default: that of this computer).',
        dependsOn: ['by'],
        ...formerly('zone'),
      }),
      gate: Flags.string({
        summary: 'With --by: only scans at this gate. Repeatable.',
        dependsOn: ['by'],
        ...repeatable,
      }),
    },
    call: ({ scans }, { flags }) =>
      scans.stats({
        query: {
          ...ledgerQuery(flags),
          scanContextFrom: flags['context-from'],
          scanContextUntil: flags['context-until'],
          groupBy: flags['group-by'],
          by: flags.by,
          zone: flags.by && timeZoneOf(flags),
          gate: flags.gate,
        },
      }),
    print(stats, { flags }) {
      if (!('items' in stats)) return showStats(stats)
      if (isByGate(stats)) return showStatsByGate(stats, terminalWidth())
      return isByTime(stats)
        ? showByTime(stats, timeZoneOf(flags), terminalWidth())
        : showStatsByProject(stats, terminalWidth())
    },
  }),
  'scans:reverse': callCommand({
    summary: 'Reverse an accepted scan.',
    description:
      'The use of the pass becomes available again, but a void pass stays void. The ledger keeps both the scan and ' +
      'its reversal. A scan can be reversed once.',
    examples: [`scans reverse ${SCAN} --reason "wrong person"`, `scans reverse ${SCAN} --yes --json`],
    args,
    flags: {
      reason: Flags.string({ summary: 'Reason, up to 255 characters.' }),
      'external-ref': Flags.string({
        summary: 'Your key of the reversal: a second request with the same key has no further effect.',
      }),
      device: Flags.string({ summary: 'ID of the device that reverses the scan.' }),
      note: Flags.string({ summary: 'Note for the ledger.' }),
    },
    asks: true,
    async call({ scans }, { args: { id }, flags: { reason, device, note, ...flags }, ask }) {
      await ask(`Reverse scan ${id}?`)
      const body = {
        reason,
        // Send a unique key, so that the request can be repeated if its response is lost.
        externalRef: flags['external-ref'] ?? `cli-${randomUUID()}`,
        deviceId: device,
        ...(note !== undefined && { context: { note } }),
      }
      return scans.reverse({ params: { id }, body }, { idempotent: true })
    },
    print: ({ message }) => message,
  }),
  'policy:replay': callCommand({
    summary: 'Evaluate the ledger of scans again under another policy.',
    description:
      'Evaluates the recorded scans of a time range as if every pass had the policy in the file, and shows the ' +
      'changed decisions by reason and gate. Records nothing. The file contains a policy in the format of a template ' +
      'definition, such as { "maxUses": 2 }. The range can have at most a million scans. For many, set --timeout 300.',
    examples: [
      'policy replay --project "Polyglot 2027" --policy strict.json --from 2027-05-30T00:00Z',
      {
        description: 'Evaluate the last day of one template, for a script',
        command: 'policy replay --project "Polyglot 2027" --template day-ticket --policy strict.json --from 24h --json',
      },
    ],
    flags: {
      project: requiredFlag('project'),
      policy: Flags.string({ summary: 'File with the policy as JSON; - reads stdin.', required: true }),
      template: namedFlag('template', ': only scans of its passes are evaluated'),
      from: pastFlag(`Only scans at or after this time: ${PAST} (default: all).`),
      to: pastFlag('Only scans at or before this time (default: now).'),
    },
    async call({ scans }, { flags, note }) {
      const { project: projectId, template: templateId } = flags
      const { value: policy } = await readJsonFile(flags.policy, RedemptionPolicy, 'a redemption policy')
      const { from = '1970-01-01T00:00:00Z', to = new Date().toISOString() } = flags
      const startedAt = Date.now()
      const notes = setInterval(() => {
        note(`Replaying the ledger, for ${duration((Date.now() - startedAt) / 1000)} …`)
      }, NOTE_EVERY_MS)
      try {
        return await scans.replay({ body: { projectId, policy, from, to, templateId } })
      } finally {
        clearInterval(notes)
      }
    },
    print: (result) => showReplay(result, terminalWidth()),
  }),
}

function isByGate(stats: ScanStatsByProject | ScanStatsByGate | ScanStatsByTime): stats is ScanStatsByGate {
  return stats.items.some((item) => 'gate' in item)
}

function isByTime(stats: ScanStatsByProject | ScanStatsByTime): stats is ScanStatsByTime {
  return stats.items.some((item) => 'at' in item)
}
