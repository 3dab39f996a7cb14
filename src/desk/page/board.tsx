/** @jsxImportSource preact */
import type { ProjectFigures } from '../../core/contract/projects.ts'
import type { ScanStatsByGate } from '../../core/contract/scans/scans.ts'
import type { ScanItem, ScanResult } from '../../core/contract/schemas/scan-shapes.ts'
import { describeFilter } from '../../core/rules/lists/pass-filters.ts'
import { reasonCodes } from '../../core/rules/redemption/scan-reasons.ts'
import { admittedAt } from '../../core/rules/zones/admitted.ts'
import type { DeskWords } from '../../locales/desk-texts.ts'
import {
  beginningOf,
  boardSources,
  minuteOf,
  PACE_MINUTES,
  paceBeginningOf,
  reachedBy,
  sumOf,
} from '../live/sources.ts'
import { MAX_ZONES_SHOWN } from '../live/zone-curves.ts'
import { ActionButton, useCanAct } from './action-dialog.tsx'
import { redeliverCommand } from './commands.ts'
import { useAnswers, useDesk } from './desk-context.ts'
import { Doors } from './doors.tsx'
import { Command, Foreign, knownValue, Moment, Numbers, PassLink, Prose, Section, Shown, Table } from './parts.tsx'
import { Plot } from './plots.tsx'
import { Zones } from './zones.tsx'

type Bucket = ProjectFigures['items'][number]

type GateFigures = ScanStatsByGate['items'][number]

type LimitName = keyof NonNullable<Awaited<ReturnType<(typeof boardSources)['workspace']['load']>>['limits']>

const DAY_MS = 86_400_000

/** The maximum number of table rows. A wall screen has less space and cannot be scrolled. */
const ROWS = {
  desk: { zones: MAX_ZONES_SHOWN, gates: 20, scans: 8, doors: 20, deliveries: 8 },
  wall: { zones: 6, gates: 6, scans: 4, doors: 4, deliveries: 1 },
}

export function Board({ projectId }: { projectId: string }) {
  const { api, clock, isWall, language } = useDesk()
  const { words, number, bytes, time } = language
  const canAct = useCanAct()
  const rows = isWall ? ROWS.wall : ROWS.desk
  const answers = useAnswers(boardSources, projectId, () => ({
    api,
    projectId,
    from: beginningOf(clock.now()),
    paceFrom: paceBeginningOf(clock.now()),
    minute: minuteOf(clock.now()),
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  }))
  const amount = (name: LimitName, value: number) =>
    name === 'storedBytes' ? <bdi>{bytes(value)}</bdi> : number(value)
  const gatesNow = knownValue(answers.pace)?.items
  return (
    <div class="board glance">
      <Zones answers={answers} rows={rows.zones} />

      <Section title={`${words.scans} · ${words.lastDay}`}>
        <Shown answer={answers.scanTotals}>
          {({ redeemed, totalScans, totalDenied }) => (
            <>
              <Numbers
                items={[
                  { name: 'admitted', label: words.admitted, value: redeemed },
                  { name: 'expected', label: words.expected, value: knownValue(answers.passTotals)?.livePassCount },
                  {
                    name: 'perMinute',
                    label: words.entriesPerMinute,
                    value: gatesNow && sumOf(gatesNow, entriesPerMinute),
                  },
                ]}
              />
              <Numbers
                items={[
                  { name: 'scans', label: words.scans, value: totalScans },
                  { name: 'accepted', label: words.accepted, value: totalScans - totalDenied },
                  { name: 'denied', label: words.denied, value: totalDenied },
                ]}
              />
            </>
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
                [words.accepted]: (figures) => (
                  <span data-number={`gate ${JSON.stringify(figures.gate)}`}>{number(admittedAt(figures))}</span>
                ),
                [words.exits]: items.some(({ exits }) => exits) && (({ exits = 0 }) => number(exits)),
                [words.denied]: ({ totalDenied }) => number(totalDenied),
                [words.perMinute]: ({ gate }) => {
                  const now = gatesNow?.find((one) => one.gate === gate)
                  return gatesNow ? number(now ? entriesPerMinute(now) : 0) : '–'
                },
              }}
              rows={items.slice(0, rows.gates)}
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
                [words.time]: !isWall && (({ scannedAt }) => <time dateTime={scannedAt}>{time(scannedAt)}</time>),
                [words.pass]: ({ passId, externalPassId }) => <PassLink id={passId}>{externalPassId ?? '–'}</PassLink>,
                [words.gate]: ({ metadata }) => <Foreign>{metadata.gate ?? '–'}</Foreign>,
                [words.result]: ({ result, reason }) =>
                  isWall && result === 'denied' ? reasonOf(reason, words) : resultOf(result, words),
                [words.reason]: !isWall && (({ reason }) => reasonOf(reason, words)),
              }}
              rows={items.slice(0, rows.scans)}
            />
          )}
        </Shown>
      </Section>

      <Section title={words.doors}>
        <Shown answer={answers.doors}>{(doors) => <Doors {...doors} rows={rows.doors} projectId={projectId} />}</Shown>
      </Section>

      <Section title={`${words.passes} · ${words.lastDay}`}>
        <Shown answer={answers.figures}>{(figures) => <Passes items={figures.items} />}</Shown>
        <Shown answer={answers.freshness}>
          {({ phones, current }) => (
            <Numbers
              items={[
                { name: 'current', label: words.phonesCurrent, value: current },
                { name: 'behind', label: words.phonesBehind, value: phones - current },
              ]}
            />
          )}
        </Shown>
      </Section>

      <Section title={words.broadcasts} wide>
        <Shown answer={answers.broadcasts}>
          {(items) => (
            <Table
              label={words.broadcasts}
              keyOf={({ broadcast }) => broadcast.id}
              columns={{
                [words.message]: ({ broadcast: { body, filter } }) => (
                  <>
                    <Prose>{textOf(body)}</Prose>
                    {filter && (
                      <Prose>
                        {`${words.filter}: `}
                        <code dir="ltr">{describeFilter(filter)}</code>
                      </Prose>
                    )}
                  </>
                ),
                [words.status]: !isWall && (({ broadcast }) => words.statuses[broadcast.status]),
                [words.waiting]: ({ stats }) => number(stats?.pending ?? 0),
                [words.sent]: ({ stats }) => number(stats ? reachedBy(stats) : 0),
                [words.failed]: ({ stats }) => number(stats?.failed ?? 0),
                [words.commands]:
                  canAct('cancelBroadcast', projectId) &&
                  (({ broadcast: { id, body, status } }) =>
                    status === 'SCHEDULED' ? (
                      <ActionButton
                        name="cancelBroadcast"
                        target={{ id, projectId }}
                        of={textOf(body)}
                        projectId={projectId}
                      />
                    ) : (
                      '–'
                    )),
              }}
              rows={items}
            />
          )}
        </Shown>
      </Section>

      <Section title={words.failingDeliveries} wide>
        <Shown answer={answers.deliveries}>
          {({ total, items }) => (
            <>
              <Numbers items={[{ name: 'failingDeliveries', label: words.lastAttemptFailed, value: total }]} />
              <Table
                label={words.failingDeliveries}
                keyOf={({ id }) => id}
                columns={{
                  [words.time]: !isWall && (({ createdAt }) => <Moment at={createdAt} />),
                  [words.event]: ({ eventType }) => <code>{eventType}</code>,
                  [words.attempts]: ({ attemptCount }) => number(attemptCount),
                  [words.error]: ({ lastError, lastResponseCode }) => (
                    <Prose>{lastError ?? lastResponseCode ?? '–'}</Prose>
                  ),
                  [words.nextAttempt]: !isWall && (({ nextAttemptAt }) => <Moment at={nextAttemptAt} />),
                  [words.commands]:
                    !isWall &&
                    ((delivery) =>
                      canAct('redeliver', null) ? (
                        <ActionButton name="redeliver" target={delivery} of={delivery.eventType} projectId={null} />
                      ) : (
                        <Command text={redeliverCommand(delivery.id)} />
                      )),
                }}
                rows={items.slice(0, rows.deliveries)}
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
                [words.used]: ([name, used]) => (
                  <data data-number={`usage ${name}`} value={used}>
                    {amount(name, used)}
                  </data>
                ),
                [words.allowed]: ([name]) => (limits ? amount(name, limits[name]) : '–'),
              }}
              rows={Object.entries(usage ?? {}) as [LimitName, number][]}
            />
          )}
        </Shown>
      </Section>

      {isWall && knownValue(answers.identities)?.total === 0 ? null : (
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
      )}
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

function reasonOf(reason: ScanItem['reason'], words: DeskWords): string {
  return reason === null ? '–' : words.reasons[reasonCodes[reason]]
}

/** Returns the entries per minute at a gate; 0 if more entries were reversed than made. */
function entriesPerMinute(figures: GateFigures): number {
  return Math.max(0, admittedAt(figures)) / PACE_MINUTES
}

/** Every result except accepted and reversal is shown as rejected. */
export function resultOf(result: ScanResult, words: DeskWords): string {
  if (result === 'accepted') return words.accepted
  return result === 'reversal' ? words.takenBack : words.denied
}

/** Returns the number of whole days until a time; negative after that time. */
function daysUntil(at: string, now: Date): number {
  return Math.floor((Date.parse(at) - now.getTime()) / DAY_MS)
}

/** Returns a message, in its first language if it has several. */
export function textOf(body: string | Record<string, string>): string {
  return typeof body === 'string' ? body : (Object.values(body)[0] ?? '')
}
