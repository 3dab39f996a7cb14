/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { type Answer, useDesk } from './desk-context.ts'

export function Section({ title, wide, children }: { title: string; wide?: true; children: ComponentChildren }) {
  const id = useId()
  return (
    <article aria-labelledby={id} class={wide ? 'card wide' : 'card'}>
      <h2 id={id}>{title}</h2>
      {children}
    </article>
  )
}

/** Renders `children` with the value of an answer, or the reason why there is no value. */
export function Shown<T>({ answer, children }: { answer: Answer<T>; children: (value: T) => ComponentChildren }) {
  const { language, notAllowed } = useDesk()
  if (answer.is === 'there') return <>{children(answer.value)}</>
  if (answer.is === 'failed') {
    return (
      <p class="problem" dir="auto">
        {answer.message}
      </p>
    )
  }
  return <p class="muted">{answer.is === 'denied' ? notAllowed : language.words.loading}</p>
}

export function knownValue<T>(answer: Answer<T>): T | undefined {
  return answer.is === 'there' ? answer.value : undefined
}

interface NumbersProps {
  /** The numbers to show. `name` identifies a number in tests. A `value` that is a string is already formatted. */
  items: { name: string; label: string; value: number | string | undefined }[]
}

/** Numbers with their labels; a dash for `undefined`. */
export function Numbers({ items }: NumbersProps) {
  const { number } = useDesk().language
  return (
    <dl class="numbers">
      {items.map(({ name, label, value }) => (
        <div key={name}>
          <dt>{label}</dt>
          <dd data-number={name}>{typeof value === 'number' ? number(value) : (value ?? '–')}</dd>
        </div>
      ))}
    </dl>
  )
}

interface TableProps<T> {
  label: string
  /** The functions that render the cells of each column, by heading. Columns without a function are omitted. */
  columns: Record<string, ((row: T) => ComponentChildren) | false | undefined>
  rows: readonly T[]
  /** By default the number of `rows`. */
  total?: number
  keyOf: (row: T) => string
}

/** A table with headings, which scrolls separately on a narrow screen. Shows the total if not all rows are listed. */
export function Table<T>({ label, columns, rows, keyOf, total = rows.length }: TableProps<T>) {
  const { words } = useDesk().language
  if (rows.length === 0) return <p class="muted">{words.nothing}</p>
  const shown = Object.entries(columns).flatMap(([name, cell]) => (cell ? { name, cell } : []))
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll it. */}
      <section class="scroll" aria-label={label} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {shown.map(({ name }) => (
                <th scope="col" key={name}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={keyOf(row)}>
                {shown.map(({ name, cell }) => (
                  <td key={name}>{cell(row)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <More shown={rows.length} total={total} />
    </>
  )
}

/** The number of shown items and the total, if not all are shown. */
export function More({ shown, total }: { shown: number; total: number }) {
  const { words, number } = useDesk().language
  if (total <= shown) return null
  return (
    <p class="muted">
      {words.shown}: {number(shown)} / {number(total)}
    </p>
  )
}

/** A command with a copy button. */
export function Command({ text }: { text: string }) {
  const { words } = useDesk().language
  const [isCopied, setCopied] = useState(false)
  const id = useId()

  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text)
      setCopied(true)
    } catch {
      // Pages over plain HTTP cannot write to the clipboard, so select the text for manual copying.
      getSelection()?.selectAllChildren(document.getElementById(id)!)
    }
  }

  return (
    <div class="command">
      <code id={id} dir="ltr">
        {text}
      </code>
      <button type="button" onClick={copy} aria-describedby={id}>
        {isCopied ? words.copied : words.copy}
      </button>
    </div>
  )
}

/** A name or id from users or other systems. Its text direction is detected independently of the text around it. */
export function Foreign({ children }: { children: ComponentChildren }) {
  return <bdi>{children}</bdi>
}

/** Text from users or other systems, like `Foreign`. In a table, its column is wide enough to read the text. */
export function Prose({ children }: { children: ComponentChildren }) {
  return <bdi class="prose">{children}</bdi>
}

/** A time in the reader's time zone; a dash for `null`. */
export function Moment({ at }: { at: string | null }) {
  const { moment } = useDesk().language
  return at === null ? <>–</> : <time dateTime={at}>{moment(at)}</time>
}

/** A link to the pass view; plain text on a wall screen. */
export function PassLink({ id, children }: { id: string | null; children: ComponentChildren }) {
  const { isWall } = useDesk()
  if (id === null || isWall) return <Foreign>{children}</Foreign>
  return (
    <a href={`#pass=${id}`}>
      <Foreign>{children}</Foreign>
    </a>
  )
}
