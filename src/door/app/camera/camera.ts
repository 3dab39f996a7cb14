import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

/**
 * The reason that there is no video.
 * - `refused`: the operator or the browser does not allow it
 * - `in_use`: another app uses the camera
 * - `none`: the phone has no camera
 * - `failed`: any other reason
 */
export type CameraProblem = 'refused' | 'in_use' | 'none' | 'failed'

/** Camera capabilities that TypeScript's types lack. */
interface CameraAbilities {
  torch?: boolean
  zoom?: { min: number; max: number }
  focusMode?: string[]
  pointsOfInterest?: unknown
}

export interface Camera {
  readonly stream: MediaStream
  readonly hasTorch: boolean
  /** The zoom factors, in the order in which the zoom button selects them. Empty without zoom. */
  readonly zooms: readonly number[]
  setTorch(isOn: boolean): Promise<void>
  setZoom(factor: number): Promise<void>
  /** Focuses on a point, in fractions of the width and height of the video. */
  focusAt(x: number, y: number): Promise<void>
  close(): void
}

/** Opens the rear camera, or returns the reason that it cannot. The browser asks for permission if needed. */
async function openCamera(onEnded: () => void): Promise<Camera | CameraProblem> {
  try {
    const stream = await navigator.mediaDevices.getUserMedia({
      audio: false,
      video: { facingMode: { ideal: 'environment' }, width: { ideal: 1920 }, height: { ideal: 1080 } },
    })
    return cameraOf(stream, onEnded)
  } catch (error) {
    return problemOf(error)
  }
}

function cameraOf(stream: MediaStream, onEnded: () => void): Camera {
  const [track] = stream.getVideoTracks()
  if (!track) throw new DOMException('No video', 'NotFoundError')
  track.addEventListener('ended', onEnded)
  const abilities = (track.getCapabilities?.() ?? {}) as CameraAbilities
  // Ignore a rejection, because some cameras report capabilities that they do not support.
  const apply = (constraint: object) =>
    track.applyConstraints({ advanced: [constraint as MediaTrackConstraintSet] }).catch(() => undefined)
  return {
    stream,
    hasTorch: abilities.torch === true,
    zooms: [1, 2, 3].filter((factor) => abilities.zoom && factor >= abilities.zoom.min && factor <= abilities.zoom.max),
    setTorch: (isOn) => apply({ torch: isOn }),
    setZoom: (factor) => apply({ zoom: factor }),
    async focusAt(x, y) {
      if (!abilities.focusMode?.includes('single-shot')) return
      await apply({
        ...(abilities.pointsOfInterest !== undefined && { pointsOfInterest: [{ x, y }] }),
        focusMode: 'single-shot',
      })
    },
    close() {
      track.removeEventListener('ended', onEnded)
      for (const one of stream.getTracks()) one.stop()
    },
  }
}

function problemOf(error: unknown): CameraProblem {
  const name = error instanceof Error || error instanceof DOMException ? error.name : ''
  if (name === 'NotAllowedError' || name === 'SecurityError') return 'refused'
  if (name === 'NotReadableError' || name === 'AbortError') return 'in_use'
  return name === 'NotFoundError' || name === 'OverconstrainedError' ? 'none' : 'failed'
}

/** The camera of the page, or the reason that there is none. Both are `null` until the browser has responded. */
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

/** The light and zoom of a camera. A decision that covers the camera does not change them. */
export interface CameraControls {
  camera: Camera | null
  isLit: boolean
  zoom: number
  switchLight(): Promise<void>
  turnZoom(): Promise<void>
}

/** A new camera starts without light and zoom. */
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
