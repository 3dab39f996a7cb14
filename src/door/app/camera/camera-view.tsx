/** @jsxImportSource preact */
import { useEffect, useRef } from 'preact/hooks'
import type { Camera } from './camera.ts'
import { createCodeTracker } from './code-tracker.ts'
import { openReader } from './reader.ts'

interface CameraViewProps {
  camera: Camera
  onCode(payload: string): void
}

/** The video of the camera. Reads one frame at a time and never queues frames. */
export function CameraView({ camera, onCode }: CameraViewProps) {
  const video = useRef<HTMLVideoElement>(null)
  const report = useRef(onCode)
  report.current = onCode

  useEffect(() => {
    const element = video.current!
    element.srcObject = camera.stream
    // Ignore a rejection, which means that the page closed before the first frame.
    element.play().catch(() => undefined)
    return readFrames(element, (payload) => report.current(payload))
  }, [camera])

  const focus = ({ offsetX, offsetY }: MouseEvent) => {
    const { clientWidth, clientHeight } = video.current!
    void camera.focusAt(offsetX / clientWidth, offsetY / clientHeight)
  }
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: without controls it takes no focus; a tap on it only sharpens the picture
  return <video ref={video} class="camera" aria-hidden="true" muted playsInline onClick={focus} />
}

/** The delay before a failed reader is opened again, in milliseconds. */
const AGAIN_MS = 1000

function readFrames(video: HTMLVideoElement, onCode: (payload: string) => void): () => void {
  const codeTracker = createCodeTracker()
  let isOver = false
  let end = (): void => undefined

  async function run(): Promise<void> {
    const reader = await openReader()
    end = () => reader.close()
    if (isOver) end()
    while (!isOver) {
      await nextFrame(video)
      if (isOver || video.videoWidth === 0) continue
      const code = codeTracker.see(await reader.read(video), performance.now())
      if (code !== undefined && !isOver) onCode(code)
    }
  }
  const keepRunning = (): void => {
    run().catch(() => {
      end()
      if (!isOver) setTimeout(keepRunning, AGAIN_MS)
    })
  }
  keepRunning()
  return () => {
    isOver = true
    end()
  }
}

/** Resolves when the video shows another frame. Never resolves while the page is hidden. */
function nextFrame(video: HTMLVideoElement): Promise<void> {
  return new Promise((resolve) => {
    if ('requestVideoFrameCallback' in video) video.requestVideoFrameCallback(() => resolve())
    else requestAnimationFrame(() => resolve())
  })
}
