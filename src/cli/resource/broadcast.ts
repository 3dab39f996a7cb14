import type { Broadcast } from '../../core/contract/broadcasts.ts'
import type { ListShape } from '../list/shape.ts'
import { broadcastArgs, messageLine, projectArg, showBroadcast } from '../notify/notification-output.ts'
import { MESSAGE, PROJECT } from './example-ids.ts'
import { callCommand, listCommand, type ResourceCommands } from './resource-command.ts'

const shape: ListShape<Broadcast> = {
  columns: [
    { name: 'id', value: ({ id }) => id, whole: true },
    { name: 'status', value: ({ status }) => status, whole: true },
    { name: 'passCount', value: ({ passCount }) => passCount, title: 'passes', whole: true },
    { name: 'sendAt', value: ({ sendAt, createdAt }) => sendAt ?? createdAt, kind: 'time' },
    { name: 'body', value: ({ body }) => messageLine(body), title: 'message' },
    { name: 'createdAt', value: ({ createdAt }) => createdAt, kind: 'time', title: 'created' },
  ],
  table: ['id', 'status', 'passCount', 'sendAt', 'body'],
}

/** The commands `broadcast …`. */
export const commands: ResourceCommands = {
  get: callCommand({
    summary: 'Show a broadcast and the state of its notifications.',
    examples: [`broadcast get ${PROJECT} ${MESSAGE}`, `broadcast get ${PROJECT} ${MESSAGE} --json`],
    args: broadcastArgs,
    async call({ broadcasts }, { args }) {
      const named = { params: { id: args.project, broadcastId: args.broadcast } }
      const [broadcast, stats] = await Promise.all([broadcasts.get(named), broadcasts.stats(named)])
      return { ...broadcast, stats }
    },
    print: ({ stats, ...broadcast }) => showBroadcast(broadcast, stats),
  }),
  list: listCommand({
    summary: 'List the broadcasts of a project, newest first.',
    examples: [`broadcast list ${PROJECT}`, `broadcast list ${PROJECT} --all --json`],
    args: projectArg,
    list:
      ({ broadcasts }, { args: { project } }) =>
      (call) =>
        broadcasts.list({ params: { id: project }, ...call }),
    shape,
    noun: ['broadcast', 'broadcasts'],
    next: 'broadcast send',
  }),
  cancel: callCommand({
    summary: 'Cancel a scheduled broadcast.',
    examples: [`broadcast cancel ${PROJECT} ${MESSAGE}`, `broadcast cancel ${PROJECT} ${MESSAGE} --json`],
    args: broadcastArgs,
    async call({ broadcasts }, { args }) {
      await broadcasts.cancel({ params: { id: args.project, broadcastId: args.broadcast } })
      return { id: args.broadcast, cancelled: true }
    },
    print: ({ id }) => `Broadcast ${id} is canceled: nothing is sent.`,
  }),
}
