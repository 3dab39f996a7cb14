/** @jsxImportSource preact */
import type { DoorGroup } from '../../../core/contract/scan-shapes.ts'
import { badgeOf, type Tone } from '../../../core/rules/door/badge.ts'
import type { Verdict } from '../../engine/engine.ts'
import { useDoor } from '../context.ts'
import { type AppLanguage, say } from '../language.ts'
import { Candidates } from './search-sheet.tsx'
import type { Scanning } from './use-scanning.ts'

interface VerdictViewProps {
  verdict: Verdict
  scanning: Scanning
  onUndo(): void
}

/** The verdict over the whole screen: a colour, a shape and a word, then who it is and what the template wants to be seen. */
export function VerdictView({ verdict, scanning, onUndo }: VerdictViewProps) {
  const { language } = useDoor()
  const { words } = language
  const { tone, word } = badgeOf(verdict)
  const said = words.verdicts[word]
  const isIn = verdict.result === 'accepted' && !verdict.isUndone
  const { door, group, candidates, payload } = verdict
  const chosen = (passId: string) =>
    void scanning.evaluate({ passId, method: 'chosen', ...(payload !== null && { payload }) })
  return (
    <section class={`verdict ${tone}`} aria-label={said}>
      {/* Above the button's area, which would keep fingers from scrolling it; a tap on it goes on all the same. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: keys have the button */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: who listens has the button */}
      <div class="said" tabIndex={0} onClick={scanning.next}>
        <Shape tone={tone} />
        <p class="word" style={{ '--letters': widthOf(said) }}>
          {said}
        </p>
        <p class="name">
          <bdi>{verdict.label ?? ''}</bdi>
        </p>
        {/* What the template says is in the language of who wrote it, whatever the direction of the page. */}
        {isIn && door?.notice && (
          <p class="notice">
            <bdi>{door.notice}</bdi>
          </p>
        )}
        {door && door.fields.length > 0 && (
          <dl>
            {door.fields.map(({ label, value }) => (
              <div key={label}>
                <dt>
                  <bdi>{label}</bdi>
                </dt>
                <dd>
                  <bdi>{value}</bdi>
                </dd>
              </div>
            ))}
          </dl>
        )}
        <p class="message">
          <bdi>{messageOf(verdict, language)}</bdi>
        </p>
        {verdict.templateName && (
          <p class="about">
            <bdi>{verdict.templateName}</bdi>
          </p>
        )}
      </div>
      <div class="foot">
        {group && group.size > 1 && <p class="group">{say(words.group, { used: group.used, size: group.size })}</p>}
        {candidates.length > 0 && <Candidates candidates={candidates} onChoose={chosen} />}
        {group && isIn && <GroupButtons group={group} scanning={scanning} />}
        <div class="actions">
          {isIn && (
            <button type="button" class="undo" onClick={onUndo}>
              {words.undo}
            </button>
          )}
          {/* Its area is the whole screen, below the other buttons. */}
          <button type="button" class="next" onClick={scanning.next}>
            {words.next}
          </button>
        </div>
      </div>
    </section>
  )
}

/** Says every verdict to who listens to the page; it must be there before it has something to say. */
export function VerdictAnnouncement({ verdict }: { verdict: Verdict | null }) {
  const { language } = useDoor()
  const text = verdict
    ? [language.words.verdicts[badgeOf(verdict).word], verdict.label, messageOf(verdict, language)]
    : []
  return (
    <div class="unseen" role="status" aria-live="assertive" key="announcement">
      <p key={verdict?.externalRef}>{text.filter(Boolean).join('. ')}</p>
    </div>
  )
}

function messageOf({ failure, message }: Verdict, { words }: AppLanguage): string {
  return failure === null ? message : say(words.failures[failure], { message })
}

function GroupButtons({ group: { open, size, used }, scanning }: { group: DoorGroup; scanning: Scanning }) {
  const { words } = useDoor().language
  if (open.length === 0 || size - used < 1) return null
  const all = open.map(({ passId }) => passId)
  return (
    <ul class="candidates">
      {open.map(({ passId, label }) => (
        <li key={passId}>
          <button type="button" onClick={() => void scanning.letIn([passId])}>
            <bdi>{label}</bdi>
          </button>
        </li>
      ))}
      {open.length > 1 && (
        <li>
          <button type="button" class="main" onClick={() => void scanning.letIn(all)}>
            {say(words.letInAll, { count: open.length })}
          </button>
        </li>
      )}
    </ul>
  )
}

/** Of the longest word of a verdict, in letters as wide as most Latin ones: words are as large as the screen lets them. */
function widthOf(text: string): number {
  const widthOfLetter = (letter: string) => (letter > '\u2e80' || 'MW'.includes(letter) ? 1.5 : 1)
  const widths = text.split(' ').map((word) => [...word].reduce((sum, letter) => sum + widthOfLetter(letter), 0))
  return Math.max(4, ...widths)
}

/** A shape that is told from the others without colour: a disc, an octagon, a triangle, a square. */
const shapes: Record<Tone, { outline: string; sign: string }> = {
  yes: { outline: 'M50 4a46 46 0 1 1 0 92a46 46 0 1 1 0-92z', sign: 'M26 52l17 17l32-36' },
  no: { outline: 'M31 4h38l27 27v38l-27 27h-38l-27-27v-38z', sign: 'M32 32l36 36M68 32l-36 36' },
  ask: { outline: 'M50 6l47 86h-94z', sign: 'M50 36v28M50 76v3' },
  note: { outline: 'M8 8h84v84h-84z', sign: 'M28 40h44M28 60h44' },
}

function Shape({ tone }: { tone: Tone }) {
  const { outline, sign } = shapes[tone]
  return (
    <svg class="shape" viewBox="0 0 100 100" aria-hidden="true">
      <path class="outline" d={outline} />
      <path class="sign" d={sign} />
    </svg>
  )
}
