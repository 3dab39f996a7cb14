/**
 * Why there is no picture.
 * - `refused`: the operator, or the browser for him, does not allow it
 * - `in_use`: another app has it
 * - `none`: the phone has no camera
 * - `failed`: whatever else
 */
export type CameraProblem = 'refused' | 'in_use' | 'none' | 'failed'

/** What browsers tell of a camera beyond the types of TypeScript. */
interface CameraAbilities {
  torch?: boolean
  zoom?: { min: number; max: number }
  focusMode?: string[]
  pointsOfInterest?: unknown
}

/** A camera that gives pictures. */
export interface Camera {
  readonly stream: MediaStream
  readonly hasTorch: boolean
  /** What the zoom can be set to, in turns; empty where there is none. */
  readonly zooms: readonly number[]
  setTorch(isOn: boolean): Promise<void>
  setZoom(factor: number): Promise<void>
  /** Focuses what is there, in parts of the picture from its left and top. */
  focusAt(x: number, y: number): Promise<void>
  close(): void
}

/** The camera at the back, or why there is none. The browser asks the operator where he has not allowed it yet. */
export async function openCamera(onEnded: () => void): Promise<Camera | CameraProblem> {
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
  // What a camera says that it can do and then does not is no fault of the door.
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
