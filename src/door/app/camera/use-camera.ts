import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type Camera, type CameraProblem, openCamera } from './camera.ts'

/** The camera of the page: null until the browser has answered. */
export interface UsedCamera {
  camera: Camera | null
  problem: CameraProblem | null
  retry(): void
}

/** Opens the camera once it is wanted, and anew where the phone took it away while the page was hidden. */
export function useCamera(isWanted: boolean): UsedCamera {
  const [opened, setOpened] = useState<Camera | CameraProblem | null>(null)
  const [attempt, setAttempt] = useState(0)
  const hasEnded = useRef(false)
  const retry = useCallback(() => setAttempt((count) => count + 1), [])

  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt opens it anew
  useEffect(() => {
    if (!isWanted) return
    let camera: Camera | undefined
    let isOver = false
    hasEnded.current = false
    const onEnded = () => {
      hasEnded.current = true
      if (document.visibilityState === 'visible') setOpened('in_use')
    }
    openCamera(onEnded).then((result) => {
      if (typeof result === 'object') camera = result
      if (isOver) camera?.close()
      else setOpened(result)
    })
    return () => {
      isOver = true
      camera?.close()
      setOpened(null)
    }
  }, [isWanted, attempt])

  useEffect(() => {
    const onShown = () => {
      if (document.visibilityState === 'visible' && hasEnded.current) retry()
    }
    document.addEventListener('visibilitychange', onShown)
    return () => document.removeEventListener('visibilitychange', onShown)
  }, [retry])

  return typeof opened === 'string'
    ? { camera: null, problem: opened, retry }
    : { camera: opened, problem: null, retry }
}
