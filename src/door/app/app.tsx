/** @jsxImportSource preact */
import { render } from 'preact'
import { useCallback, useEffect, useState } from 'preact/hooks'
import type { DoorEngine } from '../engine/engine.ts'
import { useCamera } from './camera/camera.ts'
import { ClaimScreen, takeInvitation } from './claim-screen.tsx'
import { DoorContext, useDoor, useEngineState } from './door-context.ts'
import { createFeedback } from './feedback.ts'
import type { AppLanguage } from './language.ts'
import { MainArea } from './main-area.tsx'
import { Problems } from './problems.tsx'
import { ScanScreen } from './scan/scan-screen.tsx'

export function setPageLanguage({ tag, direction, words }: AppLanguage): void {
  document.documentElement.lang = tag
  document.documentElement.dir = direction
  document.title = words.door
}

/**
 * Renders the page of the door into an element and keeps it in sync with the engine.
 * @param invitation the code that the page was opened with, already removed from the address
 */
export function mountApp(
  element: Element,
  { engine, language, invitation }: { engine: DoorEngine; language: AppLanguage; invitation: string | null },
): void {
  setPageLanguage(language)
  const app = { engine, language, feedback: createFeedback() }
  // Unlock sound on a touch, because browsers allow no sound before the first touch.
  document.addEventListener('pointerdown', () => app.feedback.unlock())
  render(
    <DoorContext.Provider value={app}>
      <App opened={invitation} />
    </DoorContext.Provider>,
    element,
  )
}

/**
 * Shows the claim screen on a phone that is not a door, and the start screen after a claim. A phone that already is a
 * door shows the scan screen.
 */
function App({ opened }: { opened: string | null }) {
  const { door, problems } = useEngineState()
  const [invitation, setInvitation] = useState(opened)
  const [isStarted, setStarted] = useState(door !== null)
  const camera = useCamera(door !== null)
  const clearInvitation = useCallback(() => setInvitation(null), [])

  useEffect(() => {
    const onOpened = () => setInvitation((known) => takeInvitation() ?? known)
    addEventListener('hashchange', onOpened)
    return () => removeEventListener('hashchange', onOpened)
  }, [])

  const isRevoked = problems.some(({ code }) => code === 'revoked')
  if (!door || isRevoked || invitation !== null) {
    return (
      <ClaimScreen
        key={invitation}
        invitation={invitation}
        onDone={clearInvitation}
        canKeep={door !== null && !isRevoked}
      />
    )
  }
  if (!isStarted) return <StartScreen camera={camera} onStart={() => setStarted(true)} />
  return <ScanScreen camera={camera} />
}

/** The screen after a claim. The browser asks for the camera permission, and a button starts scanning. */
function StartScreen({ camera, onStart }: { camera: ReturnType<typeof useCamera>; onStart(): void }) {
  const { words } = useDoor().language
  const { door } = useEngineState()
  return (
    <MainArea class="screen" label={door?.gate || door?.name || words.door}>
      <h1>
        <bdi>{door?.gate || door?.name}</bdi>
      </h1>
      {!camera.problem && <p>{camera.camera ? words.ready : words.claim.hint}</p>}
      <div class="foot">
        <Problems camera={camera} />
        <button type="button" class="main" onClick={onStart}>
          {words.start}
        </button>
      </div>
    </MainArea>
  )
}
