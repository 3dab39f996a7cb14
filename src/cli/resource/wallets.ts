import { Flags } from '@oclif/core'
import type { DeviceLog } from '../../core/contract/wallets.ts'
import { filterFlag } from '../arguments/list-flags.ts'
import { parseDuration } from '../arguments/moment.ts'
import { named } from '../arguments/named.ts'
import { count } from '../command/output.ts'
import { callCommand, listCommand, type ResourceCommands } from '../command/resource-command.ts'
import type { ListShape } from '../list/shape.ts'
import { passIdsOf } from '../scan-list/formats.ts'

const shape: ListShape<DeviceLog> = {
  columns: [
    { name: 'id', kind: 'id' },
    { name: 'at', kind: 'time' },
    { name: 'passId', title: 'pass', kind: 'id' },
    { name: 'externalPassId', title: 'external id' },
    ['device', 'message'],
  ],
  table: ['at', 'externalPassId', 'device', 'message'],
  wide: ['at', 'passId', 'externalPassId', 'device', 'message'],
}

export const commands: ResourceCommands = {
  'wallets:logs': listCommand({
    summary: 'List log messages of phones about passes.',
    description:
      'iPhones send messages on errors, such as a failed fetch. Messages are not authenticated: anyone who knows the ' +
      'serial number of a pass can send one. Messages that name no pass are only in the server log.',
    examples: [
      'wallets logs',
      'wallets logs --pass T-1 --external',
      { description: 'List all messages, for a script', command: 'wallets logs --all --json' },
    ],
    flags: {
      project: named('project', filterFlag('Only messages about passes of this project.')),
      pass: filterFlag('Only messages about this pass (external ID or ID).'),
      external: Flags.boolean({
        summary: 'Treat --pass as an external ID, even if it looks like an ID.',
        dependsOn: ['pass'],
      }),
    },
    async list(client, { flags }) {
      const passId = await passIdsOf(client, flags)
      return (call) => client.wallets.logs({ query: { ...call.query, passId } })
    },
    query: ({ project, pass }) => ({ projectId: project, passId: pass }),
    shape,
    noun: ['message', 'messages'],
    empty: 'No phone sent a log message about a pass within 30 days.',
  }),
  'wallets:nudge': callCommand({
    summary: 'Push again to phones that did not fetch a change.',
    description:
      'Only for iPhones: the server retries updates at Google automatically. A device is nudged at most once in ten ' +
      'minutes. If more than --limit devices are silent, run the command again for the others.',
    examples: ['wallets nudge --silent-for 1h', 'wallets nudge --project "Polyglot 2027" --limit 100 --json'],
    flags: {
      project: named('project', Flags.string({ summary: 'Only phones with passes of this project.' })),
      'silent-for': Flags.string({ summary: 'Minimum time since the last push, such as 10m or 2d.', default: '1h' }),
      limit: Flags.integer({
        summary: 'Maximum number of devices to push to, 1-1,000 (default: 1,000).',
        min: 1,
        max: 1000,
      }),
    },
    call: ({ wallets }, { flags: { project: projectId, limit, ...flags } }) =>
      wallets.nudge({ body: { silentFor: parseDuration(flags['silent-for'], '--silent-for'), projectId, limit } }),
    print: ({ devices, passes }) =>
      devices === 0
        ? 'No phone needs another push.'
        : `Pushing to ${count(devices)} devices again, for ${count(passes)} passes.`,
  }),
}
