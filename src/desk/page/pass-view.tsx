/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Pass } from '../../core/contract/passes.ts'
import type { PassWallets } from '../../core/contract/wallets.ts'
import { reasonCodes } from '../../core/rules/redemption/scan-reasons.ts'
import { historySources, passSources } from '../live/sources.ts'
import { ActionButton, useCanAct } from './action-dialog.tsx'
import { Balances } from './balances.tsx'
import { resultOf, textOf } from './board.tsx'
import { cancelCommand, passCommands, reverseCommand } from './commands.ts'
import { useAnswers, useDesk, useFeed } from './desk-context.ts'
import { Command, Foreign, knownValue, Moment, Prose, Section, Shown, Table } from './parts.tsx'

export function PassView({ passId }: { passId: string }) {
  const { acting, api, language } = useDesk()
  const { words, number, moment } = language
  const answers = useAnswers(passSources, passId, () => ({ api, passId }))
  const canAct = useCanAct()
  const heading = useRef<HTMLHeadingElement>(null)
  // Move the focus to the heading, so that keyboard users continue in the pass view.
  useEffect(() => heading.current?.focus(), [])
  return (
    <div class="board">
      <div class="wide">
        <a href="#board" class="button">
          {words.back}
        </a>
        <h2 ref={heading} tabIndex={-1} class="pass">
          {answers.pass.is === 'there' ? <Foreign>{answers.pass.value.label}</Foreign> : passId}
        </h2>
      </div>

      <Section title={words.pass}>
        <Shown answer={answers.pass}>
          {(pass) => {
            const { label, externalPassId, status, revision, createdAt, updatedAt, expiresAt, variables } = pass
            return (
              <>
                <dl class="facts">
                  <Fact name={words.name}>
                    <Foreign>{label}</Foreign>
                  </Fact>
                  <Fact name={words.externalId}>
                    <Foreign>{externalPassId}</Foreign>
                  </Fact>
                  <Fact name={words.status}>{words.statuses[status]}</Fact>
                  <Fact name={words.revision}>{number(revision)}</Fact>
                  <Fact name={words.created}>
                    <Moment at={createdAt} />
                  </Fact>
                  <Fact name={words.updated}>
                    <Moment at={updatedAt} />
                  </Fact>
                  <Fact name={words.expires}>
                    <Moment at={expiresAt} />
                  </Fact>
                  {Object.entries(variables).map(([name, value]) => (
                    <Fact key={name} name={name}>
                      <Foreign>{typeof value === 'string' ? value : JSON.stringify(value)}</Foreign>
                    </Fact>
                  ))}
                </dl>
                <PassActions pass={pass} />
                {acting === null && (
                  <>
                    <h3>{words.commands}</h3>
                    {passCommands({ id: passId, status }).map((text) => (
                      <Command key={text} text={text} />
                    ))}
                  </>
                )}
              </>
            )
          }}
        </Shown>
      </Section>

      {Boolean(knownValue(answers.balances)?.items.length) && (
        <Section title={words.balances} wide>
          <Shown answer={answers.balances}>{(shown) => <Balances {...shown} pass={knownValue(answers.pass)} />}</Shown>
        </Section>
      )}

      <Section title={words.cards}>
        <Shown answer={answers.cards}>{(html) => <Cards html={html} />}</Shown>
      </Section>

      <Section title={words.scans} wide>
        <Shown answer={answers.redemption}>
          {({ result, message }) => (
            <dl class="facts">
              <Fact name={words.ifScannedNow}>
                <strong>{resultOf(result, words)}</strong> · <Foreign>{message}</Foreign>
              </Fact>
            </dl>
          )}
        </Shown>
        <Shown answer={answers.scans}>
          {({ items, total }) => (
            <Table
              label={words.scans}
              keyOf={({ id }) => id}
              columns={{
                [words.time]: ({ scannedAt }) => <Moment at={scannedAt} />,
                [words.gate]: ({ metadata }) => <Foreign>{metadata.gate ?? '–'}</Foreign>,
                [words.result]: ({ result }) => resultOf(result, words),
                [words.reason]: ({ reason, reversalReason }) =>
                  reason ? words.reasons[reasonCodes[reason]] : <Foreign>{reversalReason ?? '–'}</Foreign>,
                [words.commands]: (scan) => {
                  const { id, result, projectId, scannedAt } = scan
                  if (result !== 'accepted' || items.some(({ reversesScanId }) => reversesScanId === id)) return '–'
                  if (!canAct('reverseScan', projectId)) return <Command text={reverseCommand(id)} />
                  return <ActionButton name="reverseScan" target={scan} of={moment(scannedAt)} projectId={projectId} />
                },
              }}
              rows={items}
              total={total}
            />
          )}
        </Shown>
      </Section>

      <Section title={words.wallets} wide>
        <Shown answer={answers.pass}>
          {({ wallets }) => (
            <Table
              label={words.wallets}
              keyOf={({ name }) => name}
              columns={{
                [words.device]: ({ name }) => <Foreign>{name}</Foreign>,
                [words.installed]: ({ since }) => <Moment at={since} />,
                [words.holds]: ({ holds }) => (holds === null ? '–' : number(holds)),
                [words.status]: ({ state }) => words.walletStates[state],
                [words.error]: ({ lastError }) => <Prose>{lastError ?? '–'}</Prose>,
              }}
              rows={wallets ? holdersOf(wallets) : []}
            />
          )}
        </Shown>
        <Shown answer={answers.logs}>
          {({ items, total }) =>
            items.length > 0 && (
              <Table
                label={words.message}
                keyOf={({ id }) => id}
                columns={{
                  [words.time]: ({ at }) => <Moment at={at} />,
                  [words.device]: ({ device }) => <Foreign>{device ?? '–'}</Foreign>,
                  [words.message]: ({ message }) => <Prose>{message}</Prose>,
                }}
                rows={items}
                total={total}
              />
            )
          }
        </Shown>
      </Section>

      <Section title={words.notifications} wide>
        <Shown answer={answers.notifications}>
          {({ items, total }) => (
            <Table
              label={words.notifications}
              keyOf={({ id }) => id}
              columns={{
                [words.time]: ({ createdAt }) => <Moment at={createdAt} />,
                [words.message]: ({ body }) => <Prose>{textOf(body)}</Prose>,
                [words.status]: ({ status }) => words.statuses[status],
                [words.error]: ({ apple, google }) => (
                  <Prose>{[apple.error, google.error].filter(Boolean).join(' · ') || '–'}</Prose>
                ),
                [words.commands]: ({ id, status }) =>
                  status === 'SCHEDULED' ? <Command text={cancelCommand(passId, id)} /> : '–',
              }}
              rows={items}
              total={total}
            />
          )}
        </Shown>
      </Section>

      {acting !== null && (
        <Section title={words.history} wide>
          <History passId={passId} />
        </Section>
      )}

      <Section title={words.events} wide>
        <Events passId={passId} />
      </Section>
    </div>
  )
}

/** The actions on a pass that is not void. */
const PASS_ACTIONS = ['copyLink', 'correct', 'notify', 'revokeLinks', 'voidPass'] as const

function PassActions({ pass }: { pass: Pass }) {
  const canAct = useCanAct()
  if (pass.status === 'VOID' || !PASS_ACTIONS.some((name) => canAct(name, pass.projectId))) return null
  return (
    <div class="choices">
      {PASS_ACTIONS.map((name) => (
        <ActionButton key={name} name={name} target={pass} of={pass.label} projectId={pass.projectId} />
      ))}
    </div>
  )
}

/** Returns one row for each Apple device, and one for Google, which does not report devices. */
function holdersOf({ apple, google }: PassWallets) {
  const devices = apple.map(({ deviceId, registeredAt, fetchedVersion, state, lastError }) => ({
    name: `Apple ${deviceId}`,
    since: registeredAt as string | null,
    holds: fetchedVersion,
    state,
    lastError,
  }))
  if (!google) return devices
  const { installedAt, sentVersion, state, lastError } = google
  return [...devices, { name: 'Google', since: installedAt, holds: sentVersion, state, lastError }]
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function History({ passId }: { passId: string }) {
  const { api, language } = useDesk()
  const { words } = language
  const { history } = useAnswers(historySources, passId, () => ({ api, passId }))
  return (
    <Shown answer={history}>
      {({ items, total }) => (
        <Table
          label={words.history}
          keyOf={({ id }) => id}
          columns={{
            // Use only two columns, because a phone has no space for more.
            [words.event]: ({ at, action }) => (
              <>
                {words.changes[action as keyof typeof words.changes] ?? <code>{action}</code>}
                <p class="muted">
                  <Moment at={at} />
                </p>
              </>
            ),
            [words.who]: ({ actor }) => <Foreign>{actor}</Foreign>,
          }}
          rows={items}
          total={total}
        />
      )}
    </Shown>
  )
}

function Events({ passId }: { passId: string }) {
  const { scopes, language, notAllowed } = useDesk()
  const { words } = language
  const { events } = useFeed()
  if (!scopes.includes('webhooks:read')) return <p class="muted">{notAllowed}</p>
  const own = events.filter(({ data }) => data.id === passId || data.passId === passId)
  return (
    <Table
      label={words.events}
      keyOf={({ id }) => id}
      columns={{
        [words.time]: ({ timestamp }) => <Moment at={timestamp} />,
        [words.event]: ({ type }) => <code>{type}</code>,
      }}
      rows={own}
    />
  )
}

/**
 * Both cards as the server renders them, in a shadow tree with its own style sheet. The style sheet is a constructed
 * object, because the page's Content-Security-Policy forbids inline styles.
 */
function Cards({ html }: { html: string }) {
  const host = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: 'open' })
    // Remove styles before parsing, because the Content-Security-Policy also forbids them in parsed HTML.
    const styles: string[] = []
    const bare = html.replaceAll(/<style>([^<]*)<\/style>/g, (_, style: string) => {
      styles.push(style)
      return ''
    })
    const drawn = new DOMParser().parseFromString(bare, 'text/html')
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(styles.join('\n').replaceAll(':root', ':host'))
    root.adoptedStyleSheets = [sheet]
    const body = document.createElement('div')
    body.className = 'preview'
    const phones = drawn.querySelector('.phones')
    if (phones) body.append(document.importNode(phones, true))
    root.replaceChildren(body)
  }, [html])
  return <div ref={host} class="cards" />
}
