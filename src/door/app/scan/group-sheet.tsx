/** @jsxImportSource preact */
import { useState } from 'preact/hooks'
import type { DoorGroup } from '../../../core/contract/scan-shapes.ts'
import { useDoor } from '../door-context.ts'
import { say } from '../language.ts'
import { Candidates } from './search-sheet.tsx'
import { Sheet } from './sheet.tsx'
import type { Scanning } from './use-scanning.ts'

interface GroupSheetProps {
  group: DoorGroup
  scanning: Scanning
  onClose(): void
}

/**
 * The members of a group who can still be admitted: one by one, or all of them after a confirmation that lists them.
 */
export function GroupSheet({ group: { open, size, used }, scanning, onClose }: GroupSheetProps) {
  const { words } = useDoor().language
  const [isConfirming, setConfirming] = useState(false)
  const letIn = (members: DoorGroup['open']) => {
    onClose()
    void scanning.letIn(members)
  }
  const all = say(words.letInAll, { count: open.length })

  if (isConfirming) {
    return (
      <Sheet title={say(words.letInAllQuestion, { count: open.length })} closeLabel={words.close} onClose={onClose}>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard */}
        <ul class="scrolls names" tabIndex={0} aria-label={words.letInOthers}>
          {open.map(({ passId, label }) => (
            <li key={passId}>
              <bdi>{label}</bdi>
            </li>
          ))}
        </ul>
        <button type="button" class="main" onClick={() => letIn(open)}>
          {all}
        </button>
      </Sheet>
    )
  }
  return (
    <Sheet title={say(words.group, { used, size })} closeLabel={words.close} onClose={onClose}>
      <Candidates candidates={open} onChoose={(passId) => letIn(open.filter((member) => member.passId === passId))} />
      {open.length > 1 && (
        <button type="button" onClick={() => setConfirming(true)}>
          {all}
        </button>
      )}
    </Sheet>
  )
}
