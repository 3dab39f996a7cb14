/** @jsxImportSource preact */
import type { Delivery } from '../../core/contract/deliveries.ts'
import type { ProjectFigures } from '../../core/contract/projects.ts'
import type { LedgerResult, ScanItem } from '../../core/contract/scan-shapes.ts'
import type { DeskWords } from '../desk-words.ts'
import { beginningOf, boardSources, sumOf } from '../live/sources.ts'
import { redeliverCommand } from './commands.ts'
import { useAnswers, useDesk } from './context.ts'
import { Command, Foreign, Moment, Numbers, PassLink, Prose, Section, Shown, Table } from './parts.tsx'
import { Plot } from './plots.tsx'

type Bucket = ProjectFigures['items'][number]

type SentBroadcast = Awaited<ReturnType<(typeof boardSources)['broadcasts']['load']>>[number]

type LimitName = keyof NonNullable<Awaited<ReturnType<(typeof boardSources)['workspace']['load']>>['limits']>

const DAY_MS = 86_400_000

/** Of gates those with the most scans, of doors the newest. A wall has room for fewer, and nobody to scroll it. */
const ROWS = { desk: 20, wall: 6 }

/** All of a project at a glance. */
export function Board({ projectId }: { projectId: string }) {
  const { api, clock, isWall, language } = useDesk()
  const { words, number, time } = language
  const rows = isWall ? ROWS.wall : ROWS.desk
  const answers = useAnswers(boardSources, projectId, () => ({
    api,
    projectId,
    from: beginningOf(clock.now()),
    zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  }))
  return (
    <div class="board glance">
      <Section title={`${words.passes} · ${words.lastDay}`}>
        <Shown answer={answers.figures}>{(figures) => <Passes items={figures.items} />}</Shown>
        <Shown answer={answers.freshness}>
          {({ current, late, refused }) => (
            <Numbers
              items={[
                { name: 'current', label: words.phonesCurrent, value: current },
                { name: 'late', label: words.phonesLate, value: late + refused },
              ]}
            />
          )}
        </Shown>
      </Section>

      <Section title={`${words.scans} · ${words.lastDay}`}>
        <Shown answer={answers.scanTotals}>
          {({ totalScans, totalDenied }) => (
            <Numbers
              items={[
                { name: 'scans', label: words.scans, value: totalScans },
                { name: 'accepted', label: words.accepted, value: totalScans - totalDenied },
                { name: 'denied', label: words.denied, value: totalDenied },
              ]}
            />
          )}
        </Shown>
        <Shown answer={answers.scanHours}>
          {({ items }) => (
            <Plot
              title={words.scans}
              at={items.map(({ at }) => at)}
              as="bars"
              series={[
                { name: words.accepted, values: items.map(({ totalScans, totalDenied }) => totalScans - totalDenied) },
                { name: words.denied, values: items.map(({ totalDenied }) => totalDenied) },
              ]}
            />
          )}
        </Shown>
      </Section>

      <Section title={words.byGate}>
        <Shown answer={answers.scanGates}>
          {({ items }) => (
            <Table
              label={words.byGate}
              keyOf={({ gate }) => JSON.stringify(gate)}
              columns={{
                [words.gate]: ({ gate }) => <Foreign>{gate ?? words.noGate}</Foreign>,
                [words.accepted]: ({ gate, totalScans, totalDenied }) => (
                  <span data-number={`gate ${JSON.stringify(gate)}`}>{number(totalScans - totalDenied)}</span>
                ),
                [words.denied]: ({ totalDenied }) => number(totalDenied),
              }}
              rows={items.slice(0, rows)}
              total={items.length}
            />
          )}
        </Shown>
      </Section>

      <Section title={words.latestScans}>
        <Shown answer={answers.latestScans}>
          {({ items }) => (
            <Table
              label={words.latestScans}
              keyOf={({ id }) => id}
              columns={{
                ...(!isWall && {
                  [words.time]: ({ scannedAt }: ScanItem) => <time dateTime={scannedAt}>{time(scannedAt)}</time>,
                }),
                [words.pass]: ({ passId, externalPassId }) => <PassLink id={passId}>{externalPassId ?? '–'}</PassLink>,
                [words.gate]: ({ metadata }) => <Foreign>{metadata.gate ?? '–'}</Foreign>,
                [words.result]: ({ result }) => resultOf(result, words),
                [words.reason]: ({ reason }) => (reason === null ? '–' : <code>{reason}</code>),
              }}
              rows={items.slice(0, rows)}
            />
          )}
        </Shown>
      </Section>

      <Section title={words.broadcasts}>
        <Shown answer={answers.broadcasts}>
          {(items) => (
            <Table
              label={words.broadcasts}
              keyOf={({ broadcast }) => broadcast.id}
              columns={{
                [words.message]: ({ broadcast }) => <Prose>{textOf(broadcast.body)}</Prose>,
                ...(!isWall && { [words.status]: ({ broadcast }: SentBroadcast) => <code>{broadcast.status}</code> }),
                [words.waiting]: ({ stats }) => number(stats?.pending ?? 0),
                [words.sent]: ({ stats }) => number((stats?.sent ?? 0) + (stats?.partial ?? 0)),
                [words.failed]: ({ stats }) => number(stats?.failed ?? 0),
              }}
              rows={items}
            />
          )}
        </Shown>
      </Section>

      <Section title={words.failedDeliveries}>
        <Shown answer={answers.deliveries}>
          {({ total, items }) => (
            <>
              <Numbers items={[{ name: 'failedDeliveries', label: words.failed, value: total }]} />
              <Table
                label={words.failedDeliveries}
                keyOf={({ id }) => id}
                columns={{
                  [words.time]: ({ createdAt }) => <Moment at={createdAt} />,
                  [words.event]: ({ eventType }) => <code>{eventType}</code>,
                  [words.attempts]: ({ attemptCount }) => number(attemptCount),
                  [words.error]: ({ lastError, lastResponseCode }) => (
                    <Prose>{lastError ?? lastResponseCode ?? '–'}</Prose>
                  ),
                  ...(!isWall && { [words.commands]: ({ id }: Delivery) => <Command text={redeliverCommand(id)} /> }),
                }}
                rows={items}
              />
            </>
          )}
        </Shown>
      </Section>

      <Section title={words.doors}>
        <Shown answer={answers.doors}>
          {({ total, items }) => (
            <>
              <Numbers
                items={[
                  { name: 'doors', label: words.doors, value: total },
                  {
                    name: 'pendingScans',
                    label: words.pendingScans,
                    value: sumOf(items, (door) => door.pendingScans ?? 0),
                  },
                ]}
              />
              <Table
                label={words.doors}
                keyOf={({ id }) => id}
                columns={{
                  [words.name]: (door) => <Foreign>{door.name}</Foreign>,
                  [words.gate]: (door) => <Foreign>{door.gate}</Foreign>,
                  [words.lastSeen]: (door) => <Moment at={door.lastSeenAt} />,
                  [words.pendingScans]: (door) => number(door.pendingScans ?? 0),
                }}
                rows={items.slice(0, rows)}
                total={total}
              />
            </>
          )}
        </Shown>
      </Section>

      <Section title={words.limits}>
        <Shown answer={answers.workspace}>
          {({ limits, usage }) => (
            <Table
              label={words.limits}
              keyOf={([name]) => name}
              columns={{
                [words.name]: ([name]) => words[name],
                [words.used]: ([name, used]) => <span data-number={`usage ${name}`}>{number(used)}</span>,
                [words.allowed]: ([name]) => (limits ? number(limits[name]) : '–'),
              }}
              rows={Object.entries(usage ?? {}) as [LimitName, number][]}
            />
          )}
        </Shown>
      </Section>

      <Section title={words.identities}>
        <Shown answer={answers.identities}>
          {({ items, total }) => (
            <Table
              label={words.identities}
              keyOf={({ id }) => id}
              columns={{
                [words.name]: ({ name }) => <Foreign>{name}</Foreign>,
                [words.platform]: ({ platform }) => (platform === 'apple' ? 'Apple' : 'Google'),
                [words.daysLeft]: ({ expiresAt }) =>
                  expiresAt === null ? '–' : number(daysUntil(expiresAt, clock.now())),
              }}
              rows={items}
              total={total}
            />
          )}
        </Shown>
      </Section>
    </div>
  )
}

function Passes({ items }: { items: Bucket[] }) {
  const { words } = useDesk().language
  const both = ({ apple, google }: { apple: number; google: number }) => apple + google
  const counted: [name: string, label: string, (bucket: Bucket) => number][] = [
    ['issued', words.issued, ({ issued }) => issued],
    ['installed', words.installed, ({ installed }) => both(installed)],
    ['removed', words.removed, ({ removed }) => both(removed)],
    ['updated', words.updated, ({ updated }) => updated],
    ['voided', words.voided, ({ voided }) => voided],
  ]
  return (
    <>
      <Numbers items={counted.map(([name, label, of]) => ({ name, label, value: sumOf(items, of) }))} />
      <Plot
        title={words.passes}
        at={items.map(({ at }) => at)}
        as="lines"
        series={counted.slice(0, 3).map(([, name, of]) => ({ name, values: items.map(of) }))}
      />
    </>
  )
}

function resultOf(result: LedgerResult, words: DeskWords) {
  if (result === 'accepted') return words.accepted
  return result === 'denied' ? words.denied : <code>{result}</code>
}

/** Whole days that are left; below zero once it has passed. */
function daysUntil(at: string, now: Date): number {
  return Math.floor((Date.parse(at) - now.getTime()) / DAY_MS)
}

/** A message, or its first language. */
export function textOf(body: string | Record<string, string>): string {
  return typeof body === 'string' ? body : (Object.values(body)[0] ?? '')
}
