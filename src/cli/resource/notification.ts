import type { Notification } from '../../core/contract/notifications.ts'
import { platforms } from '../../core/contract/platform.ts'
import { getPassId, passArgs, passFlags } from '../arguments/pass-argument.ts'
import type { ListShape } from '../list/shape.ts'
import { messageLine, notificationArgs, showNotification } from '../notify/notification-output.ts'
import { MESSAGE, PASS } from './example-ids.ts'
import { callCommand, listCommand, type ResourceCommands } from './resource-command.ts'

const shape: ListShape<Notification> = {
  columns: [
    { name: 'id', value: ({ id }) => id, whole: true },
    { name: 'status', value: ({ status }) => status, whole: true },
    { name: 'sendAt', value: ({ sendAt, createdAt }) => sendAt ?? createdAt, kind: 'time' },
    { name: 'body', value: ({ body }) => messageLine(body), title: 'message' },
    { name: 'error', value: (sent) => platforms.flatMap((one) => sent[one].error ?? []).join('; ') || null },
    { name: 'createdAt', value: ({ createdAt }) => createdAt, kind: 'time', title: 'created' },
  ],
  table: ['id', 'status', 'sendAt', 'body'],
  wide: ['id', 'status', 'sendAt', 'body', 'error'],
}

/** The commands `notification …`. */
export const commands: ResourceCommands = {
  get: callCommand({
    summary: 'Show a notification and its state per platform.',
    examples: [`notification get T-1 ${MESSAGE} --external`, `notification get ${PASS} ${MESSAGE} --json`],
    args: notificationArgs,
    flags: passFlags,
    async call(client, { args, flags }) {
      const id = await getPassId(client, { id: args.id, external: flags.external })
      return client.notifications.get({ params: { id, notificationId: args.notification } })
    },
    print: showNotification,
  }),
  list: listCommand({
    summary: 'List the notifications of a pass, newest first.',
    examples: ['notification list T-1 --external', `notification list ${PASS} --all --json`],
    args: passArgs,
    flags: passFlags,
    async list(client, { args, flags }) {
      const params = { id: await getPassId(client, { id: args.id, external: flags.external }) }
      return (call) => client.notifications.list({ params, ...call })
    },
    shape,
    noun: ['notification', 'notifications'],
    next: 'notify',
  }),
  cancel: callCommand({
    summary: 'Cancel a scheduled notification.',
    examples: [`notification cancel T-1 ${MESSAGE} --external`, `notification cancel ${PASS} ${MESSAGE} --json`],
    args: notificationArgs,
    flags: passFlags,
    async call(client, { args, flags }) {
      const id = await getPassId(client, { id: args.id, external: flags.external })
      await client.notifications.cancel({ params: { id, notificationId: args.notification } })
      return { id: args.notification, cancelled: true }
    },
    print: ({ id }) => `Notification ${id} is canceled: it is not sent.`,
  }),
}
