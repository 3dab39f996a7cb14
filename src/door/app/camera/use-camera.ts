import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type Camera, type CameraProblem, openCamera } from './camera.ts'

/** The camera of the page; `null` until the browser has responded. */
export interface UsedCamera {
  camera: Camera | null
  problem: CameraProblem | null
  retry(): void
}

/** Opens the camera when it is needed, and opens it again if the phone took it away while the page was hidden. */
export function useCamera(isWanted: boolean): UsedCamera {
  const [opened, setOpened] = useState<Camera | CameraProblem | null>(null)
  const [attempt, setAttempt] = useState(0)
  const hasEnded = useRef(false)
  const retry = useCallback(() => setAttempt((count) => count + 1), [])

  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt opens the camera again
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

/** The light and zoom of a camera. They are kept while decisions are shown. */
export interface CameraControls {
  camera: Camera | null
  isLit: boolean
  zoom: number
  switchLight(): Promise<void>
  turnZoom(): Promise<void>
}

/** Returns the controls of a camera. A new camera starts without light and zoom. */
export function useControls(camera: Camera | null): CameraControls {
  const [known, setKnown] = useState({ camera, ...UNSET })
  const { isLit, zoom } = known.camera === camera ? known : UNSET
  return {
    camera,
    isLit,
    zoom,
    async switchLight() {
      await camera?.setTorch(!isLit)
      setKnown({ camera, zoom, isLit: !isLit })
    },
    async turnZoom() {
      const zooms = camera?.zooms ?? []
      const factor = zooms[(zooms.indexOf(zoom) + 1) % zooms.length] ?? 1
      await camera?.setZoom(factor)
      setKnown({ camera, isLit, zoom: factor })
    },
  }
}

const UNSET = { isLit: false, zoom: 1 }
