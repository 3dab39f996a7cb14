import { Flags } from '@oclif/core'
import { type Broadcast, GoogleVia } from '../../core/contract/messages/broadcasts.ts'
import type { Notification } from '../../core/contract/messages/notifications.ts'
import { platforms } from '../../core/contract/schemas/platform.ts'
import { skipFlag } from '../arguments/list-flags.ts'
import { idArg, namedArg } from '../arguments/named.ts'
import { passArgs, passFlags, passIdOf } from '../arguments/pass-argument.ts'
import { parseWhere, whereFlag } from '../arguments/where-flag.ts'
import { count } from '../command/output.ts'
import { programName } from '../command/program.ts'
import { callCommand, listCommand, MESSAGE, PASS, PROJECT, type ResourceCommands } from '../command/resource-command.ts'
import type { ListShape } from '../list/shape.ts'
import {
  atGooglePace,
  forecastBroadcast,
  ignoreUnavailable,
  messageBody,
  messageFlags,
  messageLine,
  showBroadcast,
  showForecast,
  showNotification,
  warnOfPast,
  watchBroadcast,
} from '../notify/notification-output.ts'

const notificationsShape: ListShape<Notification> = {
  columns: [
    { name: 'id', whole: true },
    { name: 'status', whole: true },
    { name: 'sendAt', value: ({ sendAt, createdAt }) => sendAt ?? createdAt, kind: 'time' },
    { name: 'body', value: ({ body }) => messageLine(body), title: 'message' },
    { name: 'error', value: (sent) => platforms.flatMap((one) => sent[one].error ?? []).join('; ') || null },
    ['createdAt'],
  ],
  table: ['id', 'status', 'sendAt', 'body'],
  wide: ['id', 'status', 'sendAt', 'body', 'error'],
}

const broadcastsShape: ListShape<Broadcast> = {
  columns: [
    { name: 'id', whole: true },
    { name: 'status', whole: true },
    { name: 'passCount', title: 'passes', whole: true },
    { name: 'sendAt', value: ({ sendAt, createdAt }) => sendAt ?? createdAt, kind: 'time' },
    { name: 'body', value: ({ body }) => messageLine(body), title: 'message' },
    ['createdAt'],
  ],
  table: ['id', 'status', 'passCount', 'sendAt', 'body'],
}

const projectArg = { project: namedArg('project') }
const broadcastArgs = { ...projectArg, broadcast: idArg('broadcast') }
const notificationArgs = { ...passArgs, notification: idArg('notification') }

export const commands: ResourceCommands = {
  notify: callCommand({
    summary: 'Send a notification to the phones that hold a pass, now or later.',
    description:
      'iPhones show the text on the lock screen and on the back of the pass. Google Wallet shows the text as a push, ' +
      'and among the messages of the pass. A pass can have at most 3 notifications for Google Wallet within 24 ' +
      'hours. A notification also counts if no Google Wallet has the pass (status SKIPPED). For all passes of a ' +
      'project, use "passes broadcast send".',
    examples: [
      `notify ${PASS} --message "Gate B12"`,
      'notify T-1 --external --message "Doors open at 7" --platform apple --at "in 2h" --json',
    ],
    args: passArgs,
    flags: { ...passFlags, ...messageFlags },
    async call(client, { args, flags, note }) {
      const now = new Date()
      const body = messageBody(flags, now)
      warnOfPast(body, now, note)
      const id = await passIdOf(client, { args, flags })
      return client.notifications.create({ params: { id }, body }, { idempotent: true })
    },
    print: showNotification,
  }),
  'notification:get': callCommand({
    summary: 'Show a notification and its state per platform.',
    examples: [`notification get T-1 ${MESSAGE} --external`, `notification get ${PASS} ${MESSAGE} --json`],
    args: notificationArgs,
    flags: passFlags,
    async call(client, { args, flags }) {
      const id = await passIdOf(client, { args, flags })
      return client.notifications.get({ params: { id, notificationId: args.notification } })
    },
    print: showNotification,
  }),
  'notification:list': listCommand({
    summary: 'List the notifications of a pass, newest first.',
    examples: ['notification list T-1 --external', `notification list ${PASS} --all --json`],
    args: passArgs,
    flags: passFlags,
    async list(client, { args, flags }) {
      const params = { id: await passIdOf(client, { args, flags }) }
      return (call) => client.notifications.list({ params, ...call })
    },
    shape: notificationsShape,
    noun: ['notification', 'notifications'],
    empty: 'Next: passes notify',
  }),
  'notification:cancel': callCommand({
    summary: 'Cancel a scheduled notification.',
    examples: [`notification cancel T-1 ${MESSAGE} --external`, `notification cancel ${PASS} ${MESSAGE} --json`],
    args: notificationArgs,
    flags: passFlags,
    async call(client, { args, flags }) {
      const id = await passIdOf(client, { args, flags })
      await client.notifications.cancel({ params: { id, notificationId: args.notification } })
      return { id: args.notification, cancelled: true }
    },
    print: ({ id }) => `Notification ${id} is canceled: it is not sent.`,
  }),
  'broadcast:send': callCommand({
    summary: 'Send a notification to the issued passes of a project, now or later.',
    description:
      'Reaches the passes that, at the time of sending, are issued and match --where (if set). Shows their number, ' +
      'and asks for confirmation; without a terminal, --yes is required.',
    examples: [
      `broadcast send ${PROJECT} --message "Doors open at 7" --dry-run`,
      `broadcast send ${PROJECT} --message "Doors open at 7" --watch --yes`,
      `broadcast send ${PROJECT} --message "See you" --at "in 2h" --yes --json`,
      `broadcast send ${PROJECT} --message "Doors open at 7" --google-via class --dry-run`,
      `broadcast send ${PROJECT} --message "Lounge is open" --where variable=tier:gold --where installed=true --dry-run`,
    ],
    args: projectArg,
    flags: {
      ...messageFlags,
      where: whereFlag,
      'google-via': Flags.option({
        summary: 'Recipient of each message at Google: "object" is one pass, "class" all passes of a class.',
        description:
          'With class, one request reaches any number of passes. Holders of void and expired passes also receive the ' +
          'message. People who add a pass later see the message on its back.',
        options: GoogleVia.options,
        default: 'object' as const,
      })(),
      'dry-run': Flags.boolean({ summary: 'Show the number of recipients, and send nothing.', exclusive: ['watch'] }),
      watch: Flags.boolean({ summary: 'Show the progress until each notification is delivered or has failed.' }),
      yes: skipFlag,
    },
    async call(client, { args, flags, ask, note }) {
      const { broadcasts } = client
      const filter = parseWhere(flags.where)
      const now = new Date()
      const body = { ...messageBody(flags, now), googleVia: flags['google-via'], ...(filter && { filter }) }
      warnOfPast(body, now, note)
      const params = { id: args.project }
      const mustCount = flags['dry-run'] || !flags.yes
      const forecast = mustCount
        ? await forecastBroadcast(client, params, body)
        : filter && (await forecastBroadcast(client, params, body).catch(ignoreUnavailable))
      if (filter && forecast?.passCount === 0) note('Warning: no issued pass matches --where.')
      if (forecast && flags['dry-run']) return forecast
      if (forecast && !flags.yes) {
        const { passCount, google } = forecast
        const atGoogle = google.passCount > 1 ? ` (Google: ${count(google.passCount)}${atGooglePace(google)})` : ''
        await ask(`Notify ${count(passCount)} passes?${atGoogle}`)
      }
      const broadcast = (await broadcasts.create({ params, body }, { idempotent: true })) as Broadcast
      if (!flags.watch) return broadcast
      const stats = await watchBroadcast(client, broadcast)
      return { ...(await broadcasts.get({ params: { ...params, broadcastId: broadcast.id } })), stats }
    },
    print(result) {
      if ('dryRun' in result) return showForecast(result)
      const { stats, ...broadcast } = { stats: undefined, ...result }
      return showBroadcast(broadcast, stats)
    },
    note(result) {
      if ('dryRun' in result || result.status !== 'PENDING') return undefined
      return `Next: ${programName()} broadcast get ${result.projectId} ${result.id}`
    },
  }),
  'broadcast:get': callCommand({
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
  'broadcast:list': listCommand({
    summary: 'List the broadcasts of a project, newest first.',
    examples: [`broadcast list ${PROJECT}`, `broadcast list ${PROJECT} --all --json`],
    args: projectArg,
    list:
      ({ broadcasts }, { args: { project } }) =>
      (call) =>
        broadcasts.list({ params: { id: project }, ...call }),
    shape: broadcastsShape,
    noun: ['broadcast', 'broadcasts'],
    empty: 'Next: passes broadcast send',
  }),
  'broadcast:cancel': callCommand({
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
