import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Flags, type Interfaces } from '@oclif/core'
import { ApiError, type Client } from '../../client/client.ts'
import type {
  Broadcast,
  BroadcastForecast,
  BroadcastStats,
  broadcasts as routes,
} from '../../core/contract/messages/broadcasts.ts'
import type { MessageCreate, Notification } from '../../core/contract/messages/notifications.ts'
import { Platform, REQUESTS_PER_SECOND } from '../../core/contract/schemas/platform.ts'
import type { RouteCall } from '../../core/route.ts'
import { describeFilter } from '../../core/rules/lists/pass-filters.ts'
import type { WrittenText } from '../../core/rules/template/definition-languages.ts'
import { repeatable } from '../arguments/list-flags.ts'
import { parseMoment } from '../arguments/moment.ts'
import { CliError, InterruptedError, UsageError } from '../command/cli-error.ts'
import { count, counted, cut, details, duration, localTime, localTimeOr } from '../command/output.ts'
import { onInterrupt } from '../command/program.ts'
import { canAnimate } from '../settings/settings.ts'

export const messageFlags = {
  message: Flags.string({ char: 'm', summary: 'Text, up to 1000 characters.', exactlyOne: ['message', 'message-in'] }),
  'message-in': Flags.string({
    summary: "Text in one language, such as pt=Olá. Repeatable; the template's default language is required.",
    ...repeatable,
  }),
  platform: Flags.string({
    summary: 'Only this platform (default: all). Repeatable.',
    options: Platform.options,
    ...repeatable,
  }),
  at: Flags.string({ summary: 'Time of sending: an ISO 8601 date-time, or a delay such as "in 2h" (default: now).' }),
  header: Flags.string({
    summary: 'Header above the text in Google Wallet (default: the organization).',
    exclusive: ['header-in'],
  }),
  'header-in': Flags.string({ summary: 'Header in one language, such as pt=Olá. Repeatable.', ...repeatable }),
}

export type MessageFlags = Partial<Interfaces.InferredFlags<typeof messageFlags>>

/**
 * Builds a create request. It contains an idempotency key, so that a retry after a lost response sends nothing twice.
 * @throws UsageError
 */
export function messageBody(flags: MessageFlags, now: Date): MessageCreate {
  const header = flags.header ?? textsIn('--header-in', flags['header-in'])
  return {
    body: flags.message ?? textsIn('--message-in', flags['message-in']) ?? '',
    idempotencyKey: randomUUID(),
    options: header === undefined ? {} : { google: { header } },
    ...(flags.platform && { platforms: flags.platform as Platform[] }),
    ...(flags.at !== undefined && { sendAt: parseMoment(flags.at, now).toISOString() }),
  }
}

/** Warns about a `sendAt` in the past, because the server sends such a message immediately. */
export function warnOfPast({ sendAt }: MessageCreate, now: Date, note: (message: string) => void): void {
  if (sendAt !== undefined && new Date(sendAt) <= now) note('Warning: --at is in the past: the message is sent now.')
}

/** Parses texts in the form `language=text`, split at the first `=`. The server validates the languages. */
function textsIn(flag: string, given: string[] | undefined): WrittenText | undefined {
  if (!given) return undefined
  const texts = new Map<string, string>()
  for (const one of given) {
    const at = one.indexOf('=')
    if (at < 1) throw new UsageError(`${flag} ${one} must be language=text, such as ${flag} pt="Portas às 19h"`)
    const language = one.slice(0, at).trim()
    if (texts.has(language)) throw new UsageError(`${flag} has two texts in ${language}`)
    texts.set(language, one.slice(at + 1))
  }
  return Object.fromEntries(texts) as WrittenText
}

export function showNotification(notification: Notification): string {
  const { apple, google } = notification
  return details([
    ['Notification', notification.id],
    ['Pass', notification.passId],
    ...messageRows(notification.body),
    ['Status', notification.status],
    ['Send at', localTimeOr(notification.sendAt, null)],
    [
      'Apple',
      [apple.status, apple.deviceCount > 0 && counted(apple.deviceCount, 'device'), apple.error]
        .filter(Boolean)
        .join(', '),
    ],
    ['Google', [google.status, google.error].filter(Boolean).join(', ')],
  ])
}

function messageRows(body: Notification['body']): [string, string][] {
  if (typeof body === 'string') return [['Message', body]]
  return Object.entries(body).map(([language, text]) => [`Message (${language})`, text])
}

export function messageLine(body: Notification['body']): string {
  return typeof body === 'string' ? body : Object.values(body).join(' / ')
}

export function showBroadcast(broadcast: Broadcast, stats?: BroadcastStats): string {
  return details([
    ['Broadcast', broadcast.id],
    ['Project', broadcast.projectId],
    ...messageRows(broadcast.body),
    ['Platforms', broadcast.platforms.join(', ')],
    ['Google', broadcast.googleVia === 'class' ? 'one message for each class' : null],
    ['Filter', broadcast.filter ? describeFilter(broadcast.filter) : null],
    ['Status', broadcast.status],
    ['Send at', localTimeOr(broadcast.sendAt, null)],
    ['Passes', broadcast.passCount === null ? null : count(broadcast.passCount)],
    ['Notifications', stats ? describeStats(stats) : null],
    ...(stats?.classErrors ?? []).map((error): [string, string] => ['Google rejected', error]),
    ['Created', localTime(broadcast.createdAt)],
  ])
}

/** Returns the audience of a broadcast, without sending anything. */
export async function forecastBroadcast(
  { broadcasts }: Client,
  params: { id: string },
  { idempotencyKey: _, ...body }: RouteCall<typeof routes.create>['body'],
): Promise<BroadcastForecast> {
  const forecast = await broadcasts.create({ params, query: { dryRun: true }, body })
  if ('dryRun' in forecast) return forecast
  throw new Error('The server sent the broadcast, although this was a dry run')
}

/**
 * Ignores a 429 or 503 of a count, because a broadcast can be sent even if the server cannot count its passes in time.
 */
export function ignoreUnavailable(error: unknown): undefined {
  if (error instanceof ApiError && (error.status === 429 || error.status === 503)) return undefined
  throw error
}

export function showForecast({ passCount, platforms, sendAt, apple, google, reach }: BroadcastForecast): string {
  const isTargeted = (platform: Platform) => platforms.includes(platform)
  return details([
    ['Passes', `${count(passCount)} issued${reach ? ' that match' : ''}`],
    ['Send at', localTimeOr(sendAt, 'now')],
    ['Apple', isTargeted('apple') ? `${count(apple.passCount)} on a device` : 'not targeted'],
    ['Google', isTargeted('google') ? `${count(google.passCount)} installed${atGooglePace(google)}` : 'not targeted'],
    ['Over the Google cap', isTargeted('google') ? `${count(google.overCap)} (3 notifications in 24 hours)` : null],
    [
      'Reach',
      reach
        ? `${count(reach.apple)} on Apple, ${count(reach.google)} on Google, ${count(reach.neither)} on neither`
        : null,
    ],
  ])
}

/** Describes how long Google delivery takes. Empty if no class and at most one pass receive the message. */
export function atGooglePace({ passCount, seconds, classes, others }: BroadcastForecast['google']): string {
  if (classes > 0) {
    const asWell = others > 0 ? `; ${count(others)} that are not issued also receive it` : ''
    return `, by ${counted(classes, 'class', 'classes')} in ${duration(seconds)}${asWell}`
  }
  return passCount > 1 ? `, at ${REQUESTS_PER_SECOND} a second: ${duration(seconds)}` : ''
}

function describeStats({ fannedOut, pending, sent, partial, failed, skipped }: BroadcastStats): string {
  const parts = { 'fanned out': fannedOut, sent, partial, failed, skipped, pending }
  return Object.entries(parts)
    .map(([name, n]) => `${count(n)} ${name}`)
    .join(', ')
}

const EVERY_MS = 500

/**
 * The pause between two polls, as a multiple of the duration of a poll. Polls then take at most a fifth of the time.
 * Each poll is expensive: the server counts all notifications.
 */
const PAUSE_FACTOR = 4

/** Shows the progress of a broadcast on stderr until each notification is delivered or failed. */
export async function watchBroadcast(client: Client, { projectId, id, sendAt }: Broadcast): Promise<BroadcastStats> {
  const params = { id: projectId, broadcastId: id }
  using stop = onInterrupt()
  const line = openLine()
  try {
    for (;;) {
      const startedAt = performance.now()
      const stats = await client.broadcasts.stats({ params }, { signal: stop.signal })
      line.show(stats.status === 'SCHEDULED' ? `scheduled for ${localTimeOr(sendAt, 'now')}` : describeStats(stats))
      if (stats.status === 'DISPATCHED' && stats.pending === 0) return stats
      const tookMs = performance.now() - startedAt
      await sleep(Math.max(EVERY_MS, PAUSE_FACTOR * tookMs), undefined, { signal: stop.signal })
    }
  } catch (error) {
    if (!stop.signal.aborted) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error
      const message = 'The broadcast no longer exists: it was canceled before it was sent.'
      throw new CliError(message, { code: 'CANCELLED', details: params })
    }
    throw new InterruptedError('Stopped watching; the broadcast continues.', {
      hint: `to see its state, run "passes broadcast get ${projectId} ${id}".`,
      details: params,
    })
  } finally {
    line.end()
  }
}

/** Creates a status line that is overwritten on a terminal. Without a terminal, each change is a new line. */
function openLine() {
  const isTerminal = canAnimate(process.stderr)
  let shown = ''
  return {
    show(text: string) {
      if (text === shown) return
      shown = text
      // Truncate the text to one line, because only the last line of a wrapped text would be erased.
      process.stderr.write(isTerminal ? `\r\u001B[2K${cut(text, process.stderr.columns || 80)}` : `${text}\n`)
    },
    end() {
      if (isTerminal && shown) process.stderr.write('\n')
    },
  }
}
