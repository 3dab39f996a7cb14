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

/** An open camera. */
export interface Camera {
  readonly stream: MediaStream
  readonly hasTorch: boolean
  /** The zoom factors in turn. Empty without zoom. */
  readonly zooms: readonly number[]
  setTorch(isOn: boolean): Promise<void>
  setZoom(factor: number): Promise<void>
  /** Focuses on a point, in fractions of the width and height of the video. */
  focusAt(x: number, y: number): Promise<void>
  close(): void
}

/** Opens the rear camera, or returns the reason that it cannot. The browser asks for permission if needed. */
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
  // Ignore a capability that the camera reports but does not support.
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
