import type { Tone } from '../../core/rules/door/outcome.ts'

export type Feedback = ReturnType<typeof createFeedback>

interface Signal {
  /** The frequencies of the tones, in hertz, in sequence. Signals also differ by their number of tones. */
  tones: number[]
  /** The durations of vibrations and of the pauses between them, in milliseconds. */
  shakes: number[]
}

const signals: Record<Tone, Signal> = {
  yes: { tones: [1320], shakes: [80] },
  no: { tones: [220, 220, 220], shakes: [200, 100, 200, 100, 200] },
  ask: { tones: [660, 520], shakes: [150, 100, 150] },
  note: { tones: [], shakes: [40] },
}

const TONE_SECONDS = 0.14
const EACH_SECONDS = 0.2

/**
 * Creates the signals of decisions: one tone for yes, three low tones for no, and two tones for a question, each with
 * matching vibrations.
 */
export function createFeedback() {
  let audio: AudioContext | undefined

  function play({ tones }: Signal): void {
    if (audio?.state !== 'running') return
    for (const [index, hertz] of tones.entries()) {
      const at = audio.currentTime + index * EACH_SECONDS
      const [oscillator, volume] = [audio.createOscillator(), audio.createGain()]
      oscillator.type = hertz < 400 ? 'square' : 'sine'
      oscillator.frequency.value = hertz
      // Fade each tone out, because speakers click if it ends abruptly.
      volume.gain.setValueAtTime(0.5, at)
      volume.gain.exponentialRampToValueAtTime(0.001, at + TONE_SECONDS)
      oscillator.connect(volume).connect(audio.destination)
      oscillator.start(at)
      oscillator.stop(at + TONE_SECONDS)
    }
  }

  return {
    /** Enables sound. Call it on a touch, because browsers allow no sound before the first touch. */
    unlock(): void {
      audio ??= new AudioContext()
      // Ignore a rejection, which means that the browser did not accept the touch. The next touch tries again.
      if (audio.state === 'suspended') audio.resume().catch(() => undefined)
    },
    signal(tone: Tone): void {
      play(signals[tone])
      navigator.vibrate?.(signals[tone].shakes)
    },
  }
}
