import { randomUUID } from 'node:crypto'
import { Flags } from '@oclif/core'
import { idArg } from '../arguments/id-argument.ts'
import { showScan } from '../records.ts'
import { SCAN } from './example-ids.ts'
import { callCommand, type ResourceCommands } from './resource-command.ts'

const args = { id: idArg('scan') }

/** The commands `scans get` and `scans reverse`. */
export const commands: ResourceCommands = {
  get: callCommand({
    summary: 'Show a scan.',
    examples: [`scans get ${SCAN}`, `scans get ${SCAN} --json`],
    args,
    call: ({ scans }, { args: { id } }) => scans.get({ params: { id } }),
    print: showScan,
  }),
  reverse: callCommand({
    summary: 'Reverse an accepted scan.',
    description:
      'The use of the pass is available again; a pass that became void stays void. The ledger keeps both entries. A scan can be ' +
      'reversed once. Asks for confirmation; scripts add --yes.',
    examples: [`scans reverse ${SCAN} --reason "wrong person"`, `scans reverse ${SCAN} --yes --json`],
    args,
    flags: {
      reason: Flags.string({ summary: 'Reason, up to 255 characters.' }),
      'external-ref': Flags.string({
        summary: 'Your key of the reversal: a request that is sent twice has one effect.',
      }),
      device: Flags.string({ summary: 'Device that reverses it.' }),
      note: Flags.string({ summary: 'Note for the ledger.' }),
    },
    asks: true,
    async call({ scans }, { args: { id }, flags: { reason, device, note, ...flags }, ask }) {
      await ask(`Reverse scan ${id}?`)
      const body = {
        reason,
        // With a unique key, the request can be repeated if its response is lost.
        externalRef: flags['external-ref'] ?? `cli-${randomUUID()}`,
        deviceId: device,
        ...(note !== undefined && { context: { note } }),
      }
      return scans.reverse({ params: { id }, body }, { idempotent: true })
    },
    print: ({ message }) => message,
  }),
}
