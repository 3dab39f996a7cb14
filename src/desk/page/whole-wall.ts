import { useLayoutEffect } from 'preact/hooks'

/** The smallest text size in pixels. */
const MIN_PX = 9

/** The largest text size, as a share of the screen width. */
const MAX_SHARE = 0.018

/** The number of bisection steps in the search for the text size. The remaining error is below half a pixel. */
const STEPS = 7

/** The minimum width of a wall screen. Narrower screens, such as phones, scroll. */
const MIN_WIDTH_PX = 800

/**
 * Renders a wall screen, which cannot be scrolled, with the largest text that fits, regardless of language, fonts, and
 * content. The style sheet arranges cards in `--columns` columns.
 */
export function useWholeWall(isWall: boolean): void {
  useLayoutEffect(() => {
    if (!isWall) return
    const page = document.documentElement
    const fits = (px: number) => {
      page.style.fontSize = `${px}px`
      return [...document.querySelectorAll('.board, .scroll, .zone')].every(isWhole)
    }
    const fit = () => {
      const { clientWidth: width, clientHeight: height } = page
      page.classList.add('whole')
      // The number of columns (four at 16:9 without zones) does not depend on the text size. Otherwise, smaller text
      // could have less space per word.
      page.style.setProperty('--columns', String(columnsOf(width / height)))
      if (width < MIN_WIDTH_PX || !fits(MIN_PX)) {
        page.classList.remove('whole')
        page.style.fontSize = ''
        return
      }
      let [fitting, tooLarge] = [MIN_PX, Math.max(MIN_PX, width * MAX_SHARE)]
      for (let step = 0; step < STEPS; step += 1) {
        const middle = (fitting + tooLarge) / 2
        if (fits(middle)) fitting = middle
        else tooLarge = middle
      }
      fits(fitting)
    }
    const watch = new MutationObserver(fit)
    watch.observe(document.body, { childList: true, subtree: true, characterData: true })
    addEventListener('resize', fit)
    return () => {
      watch.disconnect()
      removeEventListener('resize', fit)
    }
  }, [isWall])
}

/** Returns the number of columns of a screen. Tiles of zones are one and a half times as wide as they are high. */
function columnsOf(aspect: number): number {
  const zones = document.querySelectorAll('.board > .zone').length
  return zones === 0
    ? Math.round(3 * Math.sqrt(aspect))
    : Math.min(zones, Math.round(Math.sqrt((zones * aspect) / 1.5)))
}

/**
 * Returns whether no content of an element is cut off. Allows a difference of one pixel, because browsers round both
 * sizes independently.
 */
function isWhole(part: Element): boolean {
  return part.scrollWidth <= part.clientWidth + 1 && part.scrollHeight <= part.clientHeight + 1
}
