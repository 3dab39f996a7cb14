/** @jsxImportSource preact */

import type { RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { DoorGroup, DoorView } from '../../../core/contract/schemas/scan-shapes.ts'
import { badgeOf, overfullZone, type Tone } from '../../../core/rules/door/outcome.ts'
import type { Decision } from '../../engine/engine.ts'
import { useDoor } from '../door-context.ts'
import { type AppLanguage, say } from '../language.ts'
import { Candidates, groupText } from './sheets.tsx'
import type { Scanning } from './use-scanning.ts'
import { ZoneLine } from './zone-line.tsx'

interface DecisionViewProps {
  decision: Decision
  scanning: Scanning
  onUndo(): void
  onGroup(group: DoorGroup): void
}

/**
 * The decision on the whole screen: a color, a shape, and a word, then the holder and the instructions of the template.
 * Instructions take precedence: the shape shrinks to make space for them. Long text becomes smaller. If the text still
 * does not fit, a button shows that there is more.
 */
export function DecisionView({ decision, scanning, onUndo, onGroup }: DecisionViewProps) {
  const { language } = useDoor()
  const { words } = language
  const textArea = useRef<HTMLDivElement>(null)
  const hasMore = useFit(textArea)
  const { tone, word } = badgeOf(decision)
  const { notice, fields } = instructionsOf(decision)
  const { group, candidates, payload } = decision
  const overfull = overfullText(decision, language)
  const chosen = (passId: string) =>
    void scanning.evaluate({ passId, method: 'chosen', ...(payload !== null && { payload }) })
  const showMore = () => {
    const area = textArea.current!
    area.scrollBy({ top: area.clientHeight * 0.8 })
    // Move the focus, because the focused button disappears at the end of the text.
    area.focus({ preventScroll: true })
  }
  const following = scanning.following > 0 ? ` (${language.number(scanning.following)})` : ''
  const hasInstructions = notice !== null || fields.length > 0
  return (
    <section class={`decision ${tone}`} aria-label={words.verdicts[word]}>
      {/* Cover the button's touch area, so that this text can scroll. A tap on the text acts like the button. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the button is available to keyboards */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the button is available to screen readers */}
      <div ref={textArea} class={`said${hasInstructions ? ' instructs' : ''}`} tabIndex={0} onClick={scanning.next}>
        {decision.direction && <ZoneLine direction={decision.direction} zone={decision.zone} />}
        {isOffline(decision) && <p class="offline">{words.checkedOffline}</p>}
        <div class="badge" style={{ '--letters': widthOf(words.verdicts[word]) }}>
          <Shape tone={tone} />
          <p class="word">{words.verdicts[word]}</p>
        </div>
        <p class="name">
          <bdi>{decision.label ?? ''}</bdi>
        </p>
        {overfull !== null && <p class="notice">{overfull}</p>}
        {/* Isolate texts of the template, because their direction can differ from the direction of the page. */}
        {notice !== null && (
          <p class="notice">
            <bdi>{notice}</bdi>
          </p>
        )}
        {fields.length > 0 && (
          <dl>
            {fields.map(({ label, value }) => (
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
          <bdi>{messageOf(decision, language)}</bdi>
        </p>
        {decision.templateName && (
          <p class="about">
            <bdi>{decision.templateName}</bdi>
          </p>
        )}
      </div>
      <div class="foot">
        {candidates.length > 0 && <Candidates candidates={candidates} onChoose={chosen} />}
        {group && group.size > 1 && (
          <GroupLine group={group} canLetIn={isEntry(decision)} onOpen={() => onGroup(group)} />
        )}
        <div class="actions">
          {hasMore && (
            <button type="button" class="more" onClick={showMore}>
              ▼ {words.more}
            </button>
          )}
          {isIn(decision) && (
            <button type="button" class="undo" onClick={onUndo}>
              {words.undo}
            </button>
          )}
          {/* The touch area of this button is the whole screen behind the other buttons. */}
          <button type="button" class="next" onClick={scanning.next}>
            {words.next + following}
          </button>
        </div>
      </div>
    </section>
  )
}

/** The state of a group. While other members can be admitted or are inside, this is a button that lists them. */
function GroupLine({ group, canLetIn, onOpen }: { group: DoorGroup; canLetIn: boolean; onOpen(): void }) {
  const { words } = useDoor().language
  const text = groupText(group, words)
  const hasOpen = canLetIn && group.open.length > 0
  if (!hasOpen && !group.inside?.length) return <p class="group">{text}</p>
  return (
    <button type="button" class="group" onClick={onOpen}>
      {text} {hasOpen && <small>{words.letInOthers}</small>}
    </button>
  )
}

/** Announces every decision to screen readers. The element must exist before there is a decision to announce. */
export function DecisionAnnouncement({ decision }: { decision: Decision | null }) {
  const { language } = useDoor()
  return (
    <div class="unseen" role="status" aria-live="assertive" key="announcement">
      <p key={decision?.externalRef}>{decision ? announcementOf(decision, language) : ''}</p>
    </div>
  )
}

function announcementOf(decision: Decision, language: AppLanguage): string {
  const { words } = language
  const { group } = decision
  const { notice, fields } = instructionsOf(decision)
  const way = decision.direction && badgeOf(decision).word !== 'left' ? words.zones[decision.direction] : null
  const parts = [
    way,
    words.verdicts[badgeOf(decision).word],
    decision.label,
    overfullText(decision, language),
    notice,
    ...fields.map(({ label, value }) => `${label}: ${value}`),
    messageOf(decision, language),
    group !== null && group.size > 1 && groupText(group, words),
    isOffline(decision) && words.checkedOffline,
  ]
  return parts
    .filter((part) => part !== null && part !== false && part !== '')
    .map((part) => (/\p{P}$/u.test(part as string) ? part : `${part}.`))
    .join(' ')
}

function overfullText(decision: Decision, { words, number }: AppLanguage): string | null {
  const zone = overfullZone(decision)
  if (!zone || decision.isUndone) return null
  return say(words.zones.overFull, { inside: number(zone.inside), capacity: number(zone.capacity) })
}

/** Whether a decision is an accepted entry, after which other members of the group can be admitted. */
export function isEntry(decision: Decision): boolean {
  return isIn(decision) && decision.direction !== 'out'
}

function isIn({ result, isUndone }: Decision): boolean {
  return result === 'accepted' && !isUndone
}

/**
 * Returns the instructions for door staff. The notice is omitted unless the person is admitted, because the notice
 * describes what to hand out.
 */
function instructionsOf(decision: Decision): { notice: string | null; fields: DoorView['fields'] } {
  const { door } = decision
  return { notice: (isEntry(decision) && door?.notice) || null, fields: door?.fields ?? [] }
}

/** Whether the phone decided without the server. `false` for reversals, because the server cannot overrule them. */
function isOffline({ verified, result }: Decision): boolean {
  return verified === 'offline' && result !== 'reversal'
}

function messageOf({ failure, message }: Decision, { words }: AppLanguage): string {
  return failure === null ? message : say(words.failures[failure], { message })
}

/** The minimum overflow that counts as hidden text, in pixels. */
const MORE_PX = 8

/** Shrinks the text of an area if it does not fit. Returns whether there is still text below the lower edge. */
function useFit(area: RefObject<HTMLElement>): boolean {
  const [hasMore, setHasMore] = useState(false)
  useLayoutEffect(() => {
    const element = area.current!
    const isBelow = () => element.scrollHeight - element.clientHeight - element.scrollTop > MORE_PX
    const update = () => setHasMore(isBelow())
    const fit = () => {
      element.classList.remove('dense')
      element.classList.toggle('dense', element.scrollHeight > element.clientHeight)
      update()
    }
    // The observer also calls `fit` when it starts to observe the element.
    const observer = new ResizeObserver(fit)
    observer.observe(element)
    element.addEventListener('scroll', update)
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', update)
    }
  }, [area])
  return hasMore
}

/**
 * Returns the width of the longest word, in average Latin letters. The style sheet uses it to make words as large as
 * possible.
 */
function widthOf(text: string): number {
  const widthOfLetter = (letter: string) => (letter > '\u2e80' || 'MW'.includes(letter) ? 1.5 : 1)
  const widths = text.split(' ').map((word) => [...word].reduce((sum, letter) => sum + widthOfLetter(letter), 0))
  return Math.max(4, ...widths)
}

/** Shapes that differ without color: a disc, an octagon, a triangle, and a square. */
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
